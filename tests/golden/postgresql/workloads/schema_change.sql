-- property: recorder.pace=1.0
-- phase: setup
CREATE TABLE s (id int PRIMARY KEY, a text);
-- transaction
INSERT INTO s VALUES (1, 'x');
-- phase: stream
INSERT INTO s VALUES (2, 'y');
-- transaction
ALTER TABLE s ADD COLUMN b int DEFAULT 5;
-- transaction
INSERT INTO s VALUES (3, 'z', 6); UPDATE s SET a = 'w' WHERE id = 1;
-- transaction
ALTER TABLE s DROP COLUMN a;
-- transaction
INSERT INTO s VALUES (4, 7);
-- transaction
ALTER TABLE s RENAME COLUMN b TO c;
-- transaction
INSERT INTO s VALUES (5, 8);
-- transaction
ALTER TABLE s ALTER COLUMN c TYPE bigint;
-- transaction
INSERT INTO s VALUES (6, 5000000000);
-- transaction
ALTER TABLE s RENAME TO s2;
-- transaction
INSERT INTO s2 VALUES (7, 1);
-- transaction
CREATE TABLE fresh (k text PRIMARY KEY, v int);
-- transaction
INSERT INTO fresh VALUES ('a', 1);
-- transaction
ALTER TABLE fresh ADD COLUMN w text; INSERT INTO fresh VALUES ('b', 2, 'w'); ALTER TABLE fresh DROP COLUMN v; INSERT INTO fresh VALUES ('c', 'x');
