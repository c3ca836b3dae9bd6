-- property: snapshot.mode=no_data
-- phase: setup
CREATE TABLE n (id int PRIMARY KEY, v text);
-- transaction
INSERT INTO n VALUES (1, 'x');
-- phase: stream
INSERT INTO n VALUES (2, 'y');
