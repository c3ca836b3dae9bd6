-- property: recorder.history=true
-- property: include.schema.changes=false
-- property: recorder.pace=1
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
-- transaction
ALTER TABLE S.A ADD COLUMN W VARCHAR(9);
-- transaction
CALL ASNCDC.ADDTABLE('S', 'A', 'CDC_S_A_2');
-- transaction
INSERT INTO S.A VALUES (3, 3, 'w');
UPDATE ASNCDC.IBMSNAP_REGISTER SET CD_NEW_SYNCHPOINT = {commit} WHERE CD_TABLE = 'CDC_S_A_2';
-- transaction
UPDATE S.A SET W = 'x' WHERE ID = 1;
-- phase: down
CALL ASNCDC.REMOVETABLE('S', 'A');
INSERT INTO S.A VALUES (4, 4, 'y');
-- phase: again
INSERT INTO S.A VALUES (5, 5, 'z');
