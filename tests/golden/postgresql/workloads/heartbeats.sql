-- property: heartbeat.interval.ms=600000
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v int);
-- transaction
INSERT INTO a VALUES (1, 1);
-- phase: stream
INSERT INTO a VALUES (2, 2);
