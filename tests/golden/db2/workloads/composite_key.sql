-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.K (V VARCHAR(9), B CHAR(3) NOT NULL, A BIGINT NOT NULL, PRIMARY KEY (A, B));
CALL ASNCDC.ADDTABLE('S', 'K');
-- transaction
INSERT INTO S.K VALUES ('v', 'b', 1);
-- phase: stream
INSERT INTO S.K VALUES ('w', 'bbb', 9223372036854775807);
UPDATE S.K SET B = 'c' WHERE A = 1;
UPDATE S.K SET V = 'x' WHERE A = 1;
DELETE FROM S.K WHERE A = 1;
