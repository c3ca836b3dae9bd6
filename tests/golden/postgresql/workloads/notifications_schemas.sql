-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: signal.data.collection=public.debezium_signal
-- property: snapshot.mode=no_data
-- property: notification.enabled.channels=sink
-- property: notification.sink.topic.name=golden.notifications
-- property: recorder.pace=2
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v text NOT NULL, n numeric(6,2));
CREATE TABLE debezium_signal (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048));
-- transaction
INSERT INTO a SELECT i, 'v' || i, i / 4.0 FROM generate_series(1, 3) i;
-- phase: stream
INSERT INTO debezium_signal VALUES ('ad-hoc-1', 'execute-snapshot', '{"data-collections": ["public.a"]}');
