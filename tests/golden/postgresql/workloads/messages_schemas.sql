-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE TABLE m (id int PRIMARY KEY);
-- transaction
INSERT INTO m VALUES (1);
-- phase: stream
SELECT pg_logical_emit_message(true, 'audit', 'in a transaction');
-- transaction
SELECT pg_logical_emit_message(false, 'audit', 'alone');
-- transaction
BEGIN; INSERT INTO m VALUES (2); SELECT pg_logical_emit_message(true, 'audit', '{"é": 1}'); SELECT pg_logical_emit_message(false, 'other', '\xff00'::bytea); INSERT INTO m VALUES (3); COMMIT;
