-- phase: setup
CREATE TABLE u (a int NOT NULL, b text);
CREATE UNIQUE INDEX u_partial ON u (a) WHERE b IS NOT NULL;
ALTER TABLE u REPLICA IDENTITY FULL;
INSERT INTO u VALUES (1, 'x'), (1, NULL);
-- phase: stream
INSERT INTO u VALUES (2, 'y'), (2, NULL);
-- transaction
DELETE FROM u WHERE a = 1;
