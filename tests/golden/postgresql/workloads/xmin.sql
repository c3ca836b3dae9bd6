-- property: xmin.fetch.interval.ms=1
-- property: skipped.operations=none
-- phase: setup
CREATE TABLE x (id int PRIMARY KEY, v text);
INSERT INTO x VALUES (1, 'a'), (2, 'b');
-- phase: stream
INSERT INTO x VALUES (3, 'c'), (4, 'd');
-- transaction
UPDATE x SET id = 5 WHERE id = 3;
-- transaction
DELETE FROM x WHERE id = 1;
SELECT pg_logical_emit_message(true, 'a prefix', 'content');
SELECT pg_logical_emit_message(false, 'a prefix', 'content');
TRUNCATE x;
