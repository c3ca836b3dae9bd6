-- property: column.exclude.list=public.p.secret,public.q.(x|y)
-- phase: setup
CREATE TABLE p (id int PRIMARY KEY, secret text NOT NULL, v int); CREATE TABLE q (x int, y int, id int PRIMARY KEY);
-- transaction
INSERT INTO p VALUES (1, 's', 1); INSERT INTO q VALUES (1, 2, 3);
-- phase: stream
INSERT INTO p VALUES (2, 's', 1); UPDATE p SET secret = 'z' WHERE id = 1; UPDATE p SET v = 2 WHERE id = 1; DELETE FROM p WHERE id = 1; INSERT INTO q VALUES (4, 5, 6);
