-- property: signal.data.collection=public.debezium_signal
-- property: snapshot.mode=no_data
-- property: incremental.snapshot.chunk.size=4
-- property: notification.enabled.channels=sink,log
-- property: notification.sink.topic.name=golden.notifications
-- property: table.include.list=public.a,public.b
-- property: recorder.pace=2
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v text, n numeric(6,2));
CREATE TABLE b (k text, j int, v text, PRIMARY KEY (k, j));
CREATE TABLE debezium_signal (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048));
-- transaction
INSERT INTO a SELECT i, 'v' || i, i / 4.0 FROM generate_series(1, 10) i;
INSERT INTO b SELECT 'k' || i % 3, i, 'w' FROM generate_series(1, 7) i;
-- phase: stream
INSERT INTO a VALUES (11, 'new', 1);
-- transaction
INSERT INTO debezium_signal VALUES ('ad-hoc-1', 'execute-snapshot', '{"data-collections": ["public.a"], "type": "incremental"}');
-- transaction
UPDATE a SET v = 'later' WHERE id = 2;
-- transaction
INSERT INTO debezium_signal VALUES ('ad-hoc-2', 'execute-snapshot', '{"data-collections": ["public.b"]}');
-- transaction
INSERT INTO b VALUES ('k9', 9, 'last');
-- transaction
CREATE TABLE empty (id int PRIMARY KEY);
INSERT INTO debezium_signal VALUES ('ad-hoc-3', 'execute-snapshot', '{"data-collections": ["public.unknown", "public.(a|b)"], "additional-conditions": [{"data-collection": "public.a", "filter": "id > 8 AND v <> ''new''"}]}');
-- transaction
INSERT INTO debezium_signal VALUES ('ad-hoc-4', 'stop-snapshot', '{"data-collections": ["public.a"]}');
-- transaction
INSERT INTO debezium_signal VALUES ('ad-hoc-5', 'pause-snapshot', '{}');
-- transaction
INSERT INTO debezium_signal VALUES ('ad-hoc-6', 'execute-snapshot', '{"data-collections": []}');
