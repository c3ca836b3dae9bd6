-- property: skipped.operations=u
-- property: db2.platform=ZOS
-- phase: setup
CALL ASNCDC.ZOS();
CREATE SCHEMA S;
CREATE TABLE S.A (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER);
CALL ASNCDC.ADDTABLE('S', 'A');
-- transaction
INSERT INTO S.A VALUES (1, 1), (2, 1);
-- phase: stream
UPDATE S.A SET V = 2 WHERE ID = 1;
-- transaction
INSERT INTO S.A VALUES (3, 1);
UPDATE S.A SET V = 4 WHERE ID = 3;
UPDATE S.A SET ID = 5 WHERE ID = 2;
DELETE FROM S.A WHERE ID = 1;
