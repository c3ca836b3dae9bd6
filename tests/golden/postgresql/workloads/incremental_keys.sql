-- property: signal.data.collection=public.debezium_signal
-- property: snapshot.mode=no_data
-- property: incremental.snapshot.chunk.size=2
-- property: incremental.snapshot.watermarking.strategy=insert_delete
-- property: message.key.columns=public.keyed:v,w;
-- property: decimal.handling.mode=string
-- property: recorder.pace=2
-- phase: setup
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE e (m mood PRIMARY KEY, v text);
CREATE TABLE n (k numeric PRIMARY KEY, v text);
CREATE TABLE u (k uuid PRIMARY KEY, v text);
CREATE TABLE c4 (a int, b text, c int, d int, v text, PRIMARY KEY (d, c, b, a));
CREATE TABLE keyed (id int PRIMARY KEY, v int NOT NULL, w int NOT NULL);
CREATE TABLE s (id int PRIMARY KEY, other text NOT NULL, "Mixed Case" int);
CREATE TABLE debezium_signal (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048));
-- transaction
INSERT INTO e VALUES ('happy', '1'), ('sad', '2'), ('ok', '3');
INSERT INTO n VALUES (1.5, 'a'), (-3, 'b'), (100000000000000000000.000000001, 'c'), (0, 'd');
INSERT INTO u VALUES ('00000000-0000-4000-8000-000000000002', 'a'), ('00000000-0000-4000-8000-000000000001', 'b'), ('f0000000-0000-4000-8000-000000000001', 'c');
INSERT INTO c4 SELECT i % 2, 'b' || i % 3, i, i % 2, 'v' || i FROM generate_series(1, 5) i;
INSERT INTO keyed VALUES (1, 5, 5), (2, 4, 9), (3, 4, 1);
INSERT INTO s VALUES (1, 'z', 1), (2, 'y', 2), (3, 'x''s', 3);
-- phase: stream
INSERT INTO debezium_signal VALUES ('s-1', 'execute-snapshot', '{"data-collections": ["public.e", "public.n"]}');
-- transaction
INSERT INTO debezium_signal VALUES ('s-2', 'execute-snapshot', '{"data-collections": ["public.u", "public.c4", "public.keyed"]}');
-- transaction
INSERT INTO debezium_signal VALUES ('s-3', 'execute-snapshot', '{"data-collections": ["public.s"], "surrogate-key": "other", "additional-conditions": [{"data-collection": "public.S", "filter": "id < 4 OR other = ''none''"}]}');
-- transaction
INSERT INTO s VALUES (9, 'end', 9);
