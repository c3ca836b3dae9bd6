-- property: recorder.debezium=2.5.4.Final
-- property: event.format.version=2.5
-- property: provide.transaction.metadata=true
-- property: heartbeat.interval.ms=600000
-- property: skipped.operations=none
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v text, at timestamptz); CREATE TABLE b (id int PRIMARY KEY, n numeric(5,2) NOT NULL DEFAULT 1.5);
-- transaction
INSERT INTO a VALUES (1, 'one', '2024-01-02 03:04:05.678901Z'), (2, 'two', NULL); INSERT INTO b VALUES (1, 2.25);
-- phase: stream
BEGIN; INSERT INTO a VALUES (3, 'three', NULL); UPDATE a SET v = 'uno' WHERE id = 1; INSERT INTO b VALUES (2); COMMIT;
-- transaction
UPDATE a SET id = 20 WHERE id = 2;
-- transaction
DELETE FROM b WHERE id = 1;
-- transaction
SELECT pg_logical_emit_message(true, 'p', 'inside');
-- transaction
SELECT pg_logical_emit_message(false, 'p', 'outside');
-- transaction
INSERT INTO b VALUES (3, 3);
-- transaction
TRUNCATE a;
