-- property: signal.data.collection=public.debezium_signal
-- property: snapshot.mode=no_data
-- property: incremental.snapshot.chunk.size=3
-- property: notification.enabled.channels=sink
-- property: notification.sink.topic.name=golden.notifications
-- property: recorder.pace=2
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v text);
CREATE TABLE b (id int PRIMARY KEY, v text);
CREATE TABLE c (id int PRIMARY KEY, v text);
CREATE TABLE empty (id int PRIMARY KEY, v text);
CREATE TABLE keyless (id int, v text);
CREATE TABLE debezium_signal (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048));
-- transaction
INSERT INTO a SELECT i, 'v' || i FROM generate_series(1, 7) i;
INSERT INTO b SELECT i, 'v' || i FROM generate_series(1, 4) i;
INSERT INTO c SELECT i, 'v' || i FROM generate_series(1, 2) i;
INSERT INTO keyless VALUES (1, 'x');
-- phase: stream
INSERT INTO debezium_signal VALUES ('s-1', 'execute-snapshot', '{"data-collections": ["public.a"]}'), ('s-2', 'pause-snapshot', '{}');
-- transaction
INSERT INTO a VALUES (8, 'w'); UPDATE a SET v = 'u' WHERE id IN (1, 5);
-- transaction
INSERT INTO debezium_signal VALUES ('s-3', 'resume-snapshot', '{}');
-- transaction
INSERT INTO debezium_signal VALUES ('s-4', 'execute-snapshot', '{"data-collections": ["public.empty", "public.keyless", "public.a", "public.b", "public.c"], "type": "INCREMENTAL"}'), ('s-5', 'stop-snapshot', '{"data-collections": ["public.b"]}');
-- transaction
INSERT INTO a VALUES (9, 'end');
