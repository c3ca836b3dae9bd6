-- property: key.converter.replace.null.with.default=false
-- property: value.converter.replace.null.with.default=false
-- phase: setup
CREATE TABLE d (id int PRIMARY KEY, t text DEFAULT 'by default', n int DEFAULT 7, f text NOT NULL DEFAULT 'filled');
ALTER TABLE d REPLICA IDENTITY FULL;
INSERT INTO d VALUES (1, NULL, NULL, 'x'), (2, 'a', 1, 'y');
-- phase: stream
INSERT INTO d VALUES (3, NULL, NULL, 'z'), (4, 'b', 2, 'z');
-- transaction
UPDATE d SET t = NULL, n = NULL WHERE id = 2;
-- transaction
UPDATE d SET id = 5 WHERE id = 3;
-- transaction
DELETE FROM d WHERE id = 1;
SELECT pg_logical_emit_message(true, 'a prefix', 'content');
