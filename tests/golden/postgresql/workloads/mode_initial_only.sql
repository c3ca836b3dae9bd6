-- property: snapshot.mode=initial_only
-- property: recorder.streams=false
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE b (id int PRIMARY KEY, v text);
-- transaction
INSERT INTO a VALUES (1, 'x'), (2, 'y'); INSERT INTO b VALUES (1, 'z');
-- phase: stream
