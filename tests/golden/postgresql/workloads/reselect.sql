-- property: post.processors=reselector
-- property: reselector.type=io.debezium.processors.reselect.ReselectColumnsPostProcessor
-- property: recorder.pace=1
-- phase: setup
CREATE TABLE t (id int, part text, v int, big text, nn numeric(8,2), bin bytea, PRIMARY KEY (id, part)); ALTER TABLE t ALTER big SET STORAGE EXTERNAL; ALTER TABLE t ALTER bin SET STORAGE EXTERNAL;
CREATE TABLE keyless (v int, big text); ALTER TABLE keyless ALTER big SET STORAGE EXTERNAL; ALTER TABLE keyless REPLICA IDENTITY FULL;
-- transaction
INSERT INTO t VALUES (1, 'a', 1, repeat('x', 3000), 1.5, decode(repeat('ab', 3000), 'hex')), (2, 'b', NULL, NULL, NULL, NULL); INSERT INTO keyless VALUES (1, repeat('x', 3000));
-- phase: stream
UPDATE t SET v = 2 WHERE id = 1;
-- transaction
UPDATE t SET v = NULL WHERE id = 1;
-- transaction
INSERT INTO t VALUES (3, 'c', NULL, NULL, 2.5, NULL);
-- transaction
BEGIN; UPDATE t SET v = 5 WHERE id = 3; UPDATE t SET nn = 7 WHERE id = 3; UPDATE t SET v = NULL WHERE id = 3; COMMIT;
-- transaction
UPDATE t SET id = 9 WHERE id = 1;
-- transaction
DELETE FROM t WHERE id = 2;
-- transaction
BEGIN; UPDATE t SET v = 12 WHERE id = 9; DELETE FROM t WHERE id = 9; COMMIT;
-- transaction
UPDATE keyless SET v = 2;
