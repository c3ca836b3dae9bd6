-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.L (ID INTEGER NOT NULL PRIMARY KEY, C CLOB(1000), B BLOB(1000), V VARCHAR(9));
CALL ASNCDC.ADDTABLE('S', 'L');
-- transaction
INSERT INTO S.L VALUES (1, 'a text', NULL, 'v'), (2, NULL, NULL, NULL);
-- phase: stream
INSERT INTO S.L VALUES (3, 'a text', NULL, 'v');
UPDATE S.L SET V = 'w' WHERE ID = 1;
