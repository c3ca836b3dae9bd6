-- property: provide.transaction.metadata=true
-- property: skipped.operations=c,d
-- property: table.include.list=S.A,S.B
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.A (ID INTEGER NOT NULL PRIMARY KEY, V VARCHAR(9));
CREATE TABLE S.B (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER);
CALL ASNCDC.ADDTABLE('S', 'A');
CALL ASNCDC.ADDTABLE('S', 'B');
-- transaction
INSERT INTO S.A VALUES (1, 'first');
-- phase: stream
INSERT INTO S.A VALUES (1004, 'new');
-- transaction
UPDATE S.A SET V = 'changed' WHERE ID = 1004;
-- transaction
UPDATE S.A SET ID = 1005 WHERE ID = 1004;
-- transaction
INSERT INTO S.B VALUES (1, 1);
UPDATE S.A SET ID = 2, V = 'moved' WHERE ID = 1;
UPDATE S.B SET V = 2 WHERE ID = 1;
UPDATE S.B SET ID = 3 WHERE ID = 1;
DELETE FROM S.B WHERE ID = 3;
INSERT INTO S.A VALUES (4, 'last');
-- transaction
DELETE FROM S.A WHERE ID = 1005;
-- transaction
INSERT INTO S.A VALUES (9, 'nine');
UPDATE S.A SET V = 'ten' WHERE ID = 9;
DELETE FROM S.A WHERE ID = 9;
