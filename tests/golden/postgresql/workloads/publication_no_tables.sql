-- property: publication.autocreate.mode=no_tables
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE b (id int PRIMARY KEY, v text);
-- transaction
INSERT INTO a VALUES (1, 'x'); INSERT INTO b VALUES (1, 'y');
-- phase: stream
INSERT INTO a VALUES (2, 'x'); UPDATE a SET v = 'z' WHERE id = 2; INSERT INTO b VALUES (2, 'y'); DELETE FROM a WHERE id = 1;
-- transaction
SELECT pg_logical_emit_message(true, 'p', 'said');
