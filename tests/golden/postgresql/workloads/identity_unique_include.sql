-- phase: setup
CREATE TABLE u (a int NOT NULL, b int, c int); CREATE UNIQUE INDEX ui ON u (a) INCLUDE (b); ALTER TABLE u REPLICA IDENTITY USING INDEX ui;
-- transaction
INSERT INTO u VALUES (1, 2, 3);
-- phase: stream
UPDATE u SET c = 4; DELETE FROM u;
