-- property: provide.transaction.metadata=true
-- property: skipped.operations=c
-- property: table.include.list=S.A
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.A (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER);
CREATE TABLE S.B (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER);
CALL ASNCDC.ADDTABLE('S', 'A');
CALL ASNCDC.ADDTABLE('S', 'B');
-- transaction
INSERT INTO S.A VALUES (1, 1);
-- phase: stream
INSERT INTO S.A VALUES (2, 2);
INSERT INTO S.B VALUES (2, 2);
UPDATE S.A SET V = 2 WHERE ID = 1;
-- transaction
INSERT INTO S.B VALUES (9, 9);
-- transaction
INSERT INTO S.A VALUES (3, 2);
-- transaction
DELETE FROM S.A WHERE ID = 3;
