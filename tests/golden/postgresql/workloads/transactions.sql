-- property: provide.transaction.metadata=true
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v int); CREATE TABLE b (id int PRIMARY KEY, v int);
-- transaction
INSERT INTO a VALUES (1, 1); INSERT INTO b VALUES (1, 1);
-- phase: stream
INSERT INTO a VALUES (2, 2); INSERT INTO b VALUES (2, 2); UPDATE a SET v = 3; DELETE FROM b WHERE id = 1;
-- transaction
BEGIN; INSERT INTO a VALUES (3, 3); SAVEPOINT p; INSERT INTO a VALUES (4, 4); ROLLBACK TO p; INSERT INTO b VALUES (5, 5); COMMIT;
-- transaction
BEGIN; INSERT INTO a VALUES (9, 9); ROLLBACK;
-- transaction
COPY a FROM PROGRAM 'printf "20\t1\n21\t2\n22\t\\\\N\n"';
