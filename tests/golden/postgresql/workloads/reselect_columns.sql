-- property: post.processors=r
-- property: r.type=io.debezium.processors.reselect.ReselectColumnsPostProcessor
-- property: r.reselect.columns.include.list=public.t:BIG,public.t:n.*
-- property: r.reselect.null.values=false
-- property: r.reselect.use.event.key=true
-- property: message.key.columns=public.t:v
-- property: column.mask.with.3.chars=public.t.secret
-- property: recorder.pace=1
-- phase: setup
CREATE TABLE t (id int PRIMARY KEY, v int, big text, bin bytea, nn numeric(8,2), secret text); ALTER TABLE t ALTER big SET STORAGE EXTERNAL; ALTER TABLE t ALTER bin SET STORAGE EXTERNAL; ALTER TABLE t REPLICA IDENTITY DEFAULT;
-- transaction
INSERT INTO t VALUES (1, 1, repeat('x', 3000), decode(repeat('ab', 3000), 'hex'), NULL, 'x');
-- phase: stream
UPDATE t SET nn = 2 WHERE id = 1;
-- transaction
UPDATE t SET nn = NULL WHERE id = 1;
