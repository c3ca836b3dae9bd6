-- phase: setup
CREATE TABLE a1 (id int PRIMARY KEY); CREATE TABLE a2 (id int PRIMARY KEY); CREATE TABLE a3 (id int PRIMARY KEY); CREATE TABLE a4 (id int PRIMARY KEY); CREATE TABLE a0 (id int PRIMARY KEY);
-- transaction
INSERT INTO a1 SELECT generate_series(1, 3); INSERT INTO a2 VALUES (1); INSERT INTO a3 VALUES (1), (2);
-- phase: stream
INSERT INTO a4 VALUES (1);
