-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v int);
-- transaction
INSERT INTO a VALUES (1, 1);
-- phase: stream
INSERT INTO a VALUES (2, 2);
-- transaction
SELECT pg_replication_origin_create('node "é"'); SELECT pg_replication_origin_session_setup('node "é"'); BEGIN; SELECT pg_replication_origin_xact_setup('0/AABBCC', '2024-01-01 00:00:00+00'); INSERT INTO a VALUES (3, 3); UPDATE a SET v = 4 WHERE id = 3; COMMIT; BEGIN; INSERT INTO a VALUES (4, 4); COMMIT; SELECT pg_replication_origin_session_reset();
-- transaction
INSERT INTO a VALUES (5, 5);
-- transaction
SELECT pg_replication_origin_create('second'); SELECT pg_replication_origin_session_setup('second'); BEGIN; SELECT pg_replication_origin_xact_setup('1/2', '2024-01-01 00:00:00+00'); DELETE FROM a WHERE id = 5; SELECT pg_logical_emit_message(true, 'x', 'y'); COMMIT; SELECT pg_replication_origin_session_reset();
-- transaction
SELECT pg_replication_origin_drop('second'); SELECT pg_replication_origin_drop('node "é"');
