-- property: column.include.list=public.p.id,public.p.v
-- property: table.include.list=public.p
-- property: tombstones.on.delete=false
-- phase: setup
CREATE TABLE p (id int PRIMARY KEY, secret text NOT NULL, v int); CREATE TABLE q (id int PRIMARY KEY);
-- transaction
INSERT INTO p VALUES (1, 's', 1); INSERT INTO q VALUES (1);
-- phase: stream
INSERT INTO p VALUES (2, 's', 1); INSERT INTO q VALUES (2); UPDATE p SET secret = 'z' WHERE id = 1; UPDATE p SET id = 9 WHERE id = 1; DELETE FROM p;
