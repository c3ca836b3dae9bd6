-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: recorder.debezium=2.5.4.Final
-- property: event.format.version=2.5
-- property: provide.transaction.metadata=true
-- property: heartbeat.interval.ms=600000
-- property: recorder.pace=0.5
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.A (ID INTEGER NOT NULL PRIMARY KEY, V VARCHAR(20), T TIMESTAMP, N DECIMAL(5,2));
CREATE TABLE S.B (ID INTEGER NOT NULL PRIMARY KEY, V CHAR(4) NOT NULL);
CALL ASNCDC.ADDTABLE('S', 'A');
CALL ASNCDC.ADDTABLE('S', 'B');
-- transaction
INSERT INTO S.A VALUES (1, 'one', '2024-01-02 03:04:05.678901', 1.50), (2, 'two', NULL, NULL);
INSERT INTO S.B VALUES (1, 'ab');
-- phase: stream
INSERT INTO S.A VALUES (3, 'three', NULL, -2.25);
UPDATE S.A SET V = 'uno' WHERE ID = 1;
INSERT INTO S.B VALUES (2, 'cd');
-- transaction
UPDATE S.A SET ID = 20 WHERE ID = 2;
-- transaction
DELETE FROM S.B WHERE ID = 1;
-- transaction
INSERT INTO S.B VALUES (3, 'ef');
