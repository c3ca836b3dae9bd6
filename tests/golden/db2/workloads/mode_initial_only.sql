-- property: snapshot.mode=initial_only
-- property: recorder.streams=false
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.A (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER);
CREATE TABLE S.B (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER);
CALL ASNCDC.ADDTABLE('S', 'A');
CALL ASNCDC.ADDTABLE('S', 'B');
-- transaction
INSERT INTO S.A VALUES (1, 1), (2, 1);
