-- property: column.mask.hash.v2.SHA-512.with.salt.CzQMA0cB5K=S.H.(A|B|C|D|E|L|N|ID)
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.H (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(40), B VARCHAR(20) NOT NULL, C VARCHAR(10), D VARCHAR(200), E CHAR(6), L VARCHAR(9), N INTEGER);
CALL ASNCDC.ADDTABLE('S', 'H');
-- transaction
INSERT INTO S.H VALUES (1, 'plain', 'é日本😀', 'short', 'text', 'ab', 'l', 1), (2, NULL, '', NULL, NULL, NULL, NULL, NULL), (3, '', 'q"\ x', '0123456789', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy', 'abcdef', '123456789', 2);
-- phase: stream
INSERT INTO S.H VALUES (101, 'plain', 'é日本😀', 'short', 'text', 'ab', 'l', 1), (102, NULL, '', NULL, NULL, NULL, NULL, NULL), (103, '', 'q"\ x', '0123456789', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy', 'abcdef', '123456789', 2);
UPDATE S.H SET N = 9 WHERE ID = 103;
UPDATE S.H SET ID = 200 WHERE ID = 101;
DELETE FROM S.H WHERE ID = 3;
