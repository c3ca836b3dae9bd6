-- property: signal.data.collection=public.debezium_signal
-- phase: setup
CREATE TABLE t (id int PRIMARY KEY, v text);
CREATE TABLE debezium_signal (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048));
-- transaction
INSERT INTO t VALUES (1, 'a');
INSERT INTO debezium_signal VALUES ('old', 'log', '{"message": "not read in the snapshot"}');
-- phase: stream
INSERT INTO t VALUES (2, 'b');
-- transaction
INSERT INTO debezium_signal VALUES ('log-1', 'log', '{"message": "hello {}"}');
-- transaction
INSERT INTO t VALUES (3, 'c'); INSERT INTO debezium_signal VALUES ('log-2', 'log', 'not json'); INSERT INTO debezium_signal VALUES ('x', 'what-is-this', '{}'); INSERT INTO t VALUES (4, 'd');
-- transaction
UPDATE debezium_signal SET type = 'none' WHERE id = 'x';
-- transaction
DELETE FROM debezium_signal;
