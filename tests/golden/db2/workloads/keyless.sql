-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.N (A INTEGER, B VARCHAR(10));
CALL ASNCDC.ADDTABLE('S', 'N');
-- transaction
INSERT INTO S.N VALUES (1, 'x');
-- phase: stream
INSERT INTO S.N VALUES (2, 'y'), (3, NULL);
-- transaction
UPDATE S.N SET B = 'z' WHERE A = 1;
DELETE FROM S.N WHERE A = 2;
-- transaction
DELETE FROM S.N WHERE A = 1;
