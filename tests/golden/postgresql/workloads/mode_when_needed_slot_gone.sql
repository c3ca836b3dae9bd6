-- property: snapshot.mode=when_needed
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE b (id int PRIMARY KEY, v text);
-- transaction
INSERT INTO a VALUES (1, 'x'), (2, 'y'); INSERT INTO b VALUES (1, 'z');
-- phase: stream
INSERT INTO a VALUES (3, 'new');
-- phase: down
SELECT pg_drop_replication_slot('golden');
-- transaction
INSERT INTO b VALUES (2, 'down'); DELETE FROM a WHERE id = 2;
-- phase: again
UPDATE a SET v = 'again' WHERE id = 1;
