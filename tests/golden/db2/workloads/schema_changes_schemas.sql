-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: include.schema.changes=true
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.D (ID INTEGER NOT NULL PRIMARY KEY, V VARCHAR(9) DEFAULT 'x' NOT NULL, N DECIMAL(6,2), C CHAR(3), P TIMESTAMP);
CALL ASNCDC.ADDTABLE('S', 'D');
-- phase: stream
INSERT INTO S.D (ID, V, N, C) VALUES (1, 'v', 1, 'c');
