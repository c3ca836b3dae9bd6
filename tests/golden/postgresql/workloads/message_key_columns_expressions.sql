-- property: message.key.columns=public.k1:b;public.k.*:c,A;(.*):nope;public.K3:x.*
-- phase: setup
CREATE TABLE k1 (a int PRIMARY KEY, b int, c int NOT NULL); CREATE TABLE k2 (a int PRIMARY KEY, b text); CREATE TABLE k3 (x1 int, y int PRIMARY KEY, x2 text); CREATE TABLE k4 (z int, q int NOT NULL); CREATE UNIQUE INDEX k4q ON k4 (q); CREATE TABLE other (a int, nope int);
-- transaction
INSERT INTO k1 VALUES (1, 2, 3); INSERT INTO k2 VALUES (1, 'x'); INSERT INTO k3 VALUES (1, 2, 'x'); INSERT INTO k4 VALUES (1, 2); INSERT INTO other VALUES (1, 2);
-- phase: stream
INSERT INTO k2 VALUES (2, 'x'); INSERT INTO k4 VALUES (1, 3); INSERT INTO other VALUES (1, NULL); UPDATE k1 SET b = 7 WHERE a = 1; UPDATE k3 SET x2 = 'z';
