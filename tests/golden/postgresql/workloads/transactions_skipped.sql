-- property: provide.transaction.metadata=true
-- property: skipped.operations=u,d,t
-- property: table.include.list=public.a
-- property: tombstones.on.delete=false
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v int); CREATE TABLE b (id int PRIMARY KEY, v int);
-- transaction
INSERT INTO a VALUES (1, 1);
-- phase: stream
BEGIN; INSERT INTO a VALUES (2, 2); INSERT INTO b VALUES (2, 2); UPDATE a SET v = 3 WHERE id = 1; UPDATE a SET id = 7 WHERE id = 2; DELETE FROM a WHERE id = 1; INSERT INTO a VALUES (3, 3); COMMIT;
-- transaction
INSERT INTO b VALUES (3, 3);
-- transaction
TRUNCATE a;
