-- property: signal.data.collection=public.debezium_signal
-- property: snapshot.mode=no_data
-- property: recorder.pace=3
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v text);
CREATE TABLE b (id int PRIMARY KEY, v text);
CREATE TABLE debezium_signal (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048));
-- transaction
INSERT INTO a SELECT i, 'v' || i FROM generate_series(1, 3) i;
INSERT INTO b SELECT i, 'w' || i FROM generate_series(1, 3) i;
-- phase: stream
INSERT INTO a VALUES (4, 'new');
-- transaction
INSERT INTO debezium_signal VALUES ('s-1', 'execute-snapshot', '{"data-collections": ["public.a", "public.b"], "type": "blocking", "additional-conditions": [{"data-collection": "public.b", "filter": "SELECT * FROM public.b WHERE id > 1"}]}');
-- transaction
INSERT INTO a VALUES (5, 'after');
