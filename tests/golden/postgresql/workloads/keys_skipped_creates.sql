-- property: provide.transaction.metadata=true
-- property: skipped.operations=c
-- phase: setup
CREATE TABLE t (id int PRIMARY KEY, v text);
INSERT INTO t VALUES (1, 'first');
-- phase: stream
INSERT INTO t VALUES (1004, 'new');
-- transaction
UPDATE t SET v = 'changed' WHERE id = 1004;
-- transaction
UPDATE t SET id = 1005 WHERE id = 1004;
-- transaction
BEGIN;
UPDATE t SET id = 2, v = 'moved' WHERE id = 1;
UPDATE t SET v = 'again' WHERE id = 2;
DELETE FROM t WHERE id = 2;
INSERT INTO t VALUES (4, 'last');
COMMIT;
-- transaction
DELETE FROM t WHERE id = 1005;
