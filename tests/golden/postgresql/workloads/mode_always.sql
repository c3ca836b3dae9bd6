-- property: snapshot.mode=always
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE b (id int PRIMARY KEY, v text);
-- transaction
INSERT INTO a VALUES (1, 'x'), (2, 'y'); INSERT INTO b VALUES (1, 'z');
-- phase: stream
INSERT INTO a VALUES (3, 'new');
-- phase: down
SELECT 1;
-- phase: again
UPDATE a SET v = 'again' WHERE id = 1;
