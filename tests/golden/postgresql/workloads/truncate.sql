-- property: skipped.operations=none
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a); CREATE TABLE c (v int);
-- transaction
INSERT INTO a VALUES (1); INSERT INTO b VALUES (1, 1);
-- phase: stream
TRUNCATE a CASCADE;
-- transaction
INSERT INTO a VALUES (2); TRUNCATE c; INSERT INTO a VALUES (3);
-- transaction
TRUNCATE a, b, c RESTART IDENTITY;
