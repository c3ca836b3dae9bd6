-- property: message.prefix.include.list=foo.*,BAR
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY);
-- phase: stream
BEGIN; INSERT INTO a VALUES (1); SELECT pg_logical_emit_message(true, 'foobar', '1'); SELECT pg_logical_emit_message(true, 'bar', '2'); SELECT pg_logical_emit_message(true, 'bars', '3'); SELECT pg_logical_emit_message(true, '', '4'); COMMIT;
-- transaction
SELECT pg_logical_emit_message(false, 'other', '5'); SELECT pg_logical_emit_message(false, 'foo', '6');
-- transaction
SELECT pg_current_xact_id();
-- transaction
INSERT INTO a VALUES (2);
