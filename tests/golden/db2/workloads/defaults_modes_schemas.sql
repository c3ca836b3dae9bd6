-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: decimal.handling.mode=string
-- property: time.precision.mode=isostring
-- phase: setup
CREATE SCHEMA S;
CREATE TABLE S.D (ID INTEGER NOT NULL PRIMARY KEY, I INTEGER DEFAULT 5, J INTEGER DEFAULT 6 NOT NULL, V VARCHAR(9) DEFAULT 'x y', C CHAR(5) DEFAULT 'ab' NOT NULL, N DECIMAL(6,2) DEFAULT 1.5, F DOUBLE DEFAULT 2.5, B BIGINT DEFAULT -7, M SMALLINT DEFAULT 3 NOT NULL, E DATE DEFAULT '2024-02-29', T TIME DEFAULT '04:05:11', P TIMESTAMP DEFAULT '2019-07-09 02:28:57.123456', DN DATE DEFAULT CURRENT_DATE NOT NULL, Z VARCHAR(9) DEFAULT NULL, Q VARCHAR(9) DEFAULT 'it''s');
CALL ASNCDC.ADDTABLE('S', 'D');
-- transaction
INSERT INTO S.D VALUES (1, 1, 2, 'v', 'c', 3, 4, 5, 6, '2020-01-01', '01:02:03', '2020-01-01 00:00:00', '2020-01-02', 'z', 'q'), (2, NULL, 2, NULL, 'c', NULL, NULL, NULL, 6, NULL, NULL, NULL, '2020-01-02', NULL, NULL);
-- phase: stream
INSERT INTO S.D VALUES (3, NULL, 2, NULL, 'c', NULL, NULL, NULL, 6, NULL, NULL, NULL, '2020-01-02', NULL, NULL);
