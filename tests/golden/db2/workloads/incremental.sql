-- property: signal.data.collection=S.SIGNALS
-- property: snapshot.mode=no_data
-- property: incremental.snapshot.chunk.size=2
-- property: recorder.pace=3
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.A (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER);
CREATE TABLE S.B (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER);
CALL ASNCDC.ADDTABLE('S', 'A');
CALL ASNCDC.ADDTABLE('S', 'B');
CREATE TABLE S.SIGNALS (ID VARCHAR(42) NOT NULL PRIMARY KEY, TYPE VARCHAR(32) NOT NULL, DATA VARCHAR(2048));
CALL ASNCDC.ADDTABLE('S', 'SIGNALS');
-- transaction
INSERT INTO S.A VALUES (1, 1), (2, 1), (3, 1), (4, 1), (5, 1);
INSERT INTO S.B VALUES (1, 1), (2, 2);
-- phase: stream
INSERT INTO S.A VALUES (6, 1);
-- transaction
INSERT INTO S.SIGNALS VALUES ('s-1', 'execute-snapshot', '{"data-collections": ["S.A", "S.B"], "type": "incremental"}');
-- transaction
INSERT INTO S.B VALUES (3, 3);
