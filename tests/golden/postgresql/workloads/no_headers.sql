-- property: extended.headers.enabled=false
-- property: tombstones.on.delete=false
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v int);
-- transaction
INSERT INTO a VALUES (1, 1);
-- phase: stream
INSERT INTO a VALUES (2, 2); UPDATE a SET id = 3 WHERE id = 1; DELETE FROM a; SELECT pg_logical_emit_message(true, 'x', 'y');
