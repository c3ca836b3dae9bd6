-- phase: setup
CREATE TABLE e (id int PRIMARY KEY);
-- phase: stream
INSERT INTO e VALUES (1);
