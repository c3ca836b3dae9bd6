-- property: provide.transaction.metadata=true
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v int);
-- phase: stream
BEGIN; INSERT INTO a VALUES (1, 1); SELECT pg_logical_emit_message(true, 'p', 'in'); INSERT INTO a VALUES (2, 2); COMMIT;
-- transaction
SELECT pg_logical_emit_message(true, 'p', 'only');
