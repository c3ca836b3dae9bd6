-- property: streaming.query.timespan.seconds=2
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
INSERT INTO S.B VALUES (2, 2);
-- transaction
UPDATE S.A SET V = 5 WHERE ID = 1;
