-- property: snapshot.mode=configuration_based
-- property: snapshot.mode.configuration.based.snapshot.schema=true
-- property: snapshot.mode.configuration.based.snapshot.data=true
-- property: snapshot.mode.configuration.based.start.stream=true
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.A (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER);
CREATE TABLE S.B (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER);
CALL ASNCDC.ADDTABLE('S', 'A');
CALL ASNCDC.ADDTABLE('S', 'B');
-- transaction
INSERT INTO S.A VALUES (1, 1), (2, 1);
-- phase: stream
INSERT INTO S.A VALUES (3, 1);
