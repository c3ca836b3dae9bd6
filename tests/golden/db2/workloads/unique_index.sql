-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.U (A INTEGER NOT NULL, B VARCHAR(10) NOT NULL, C INTEGER);
CREATE UNIQUE INDEX S.U_X ON S.U (B, A);
CALL ASNCDC.ADDTABLE('S', 'U');
-- transaction
INSERT INTO S.U VALUES (1, 'x', 1);
-- phase: stream
INSERT INTO S.U VALUES (2, 'y', 1);
UPDATE S.U SET C = 2 WHERE A = 1;
UPDATE S.U SET A = 3 WHERE A = 1;
DELETE FROM S.U WHERE A = 2;
