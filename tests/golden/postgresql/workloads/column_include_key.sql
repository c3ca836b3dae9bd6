-- property: column.include.list=public.p.v
-- property: message.key.columns=public.q:b,a
-- phase: setup
CREATE TABLE p (id int PRIMARY KEY, secret text NOT NULL, v int); CREATE TABLE q (id int PRIMARY KEY, a text, b int, v text); ALTER TABLE q REPLICA IDENTITY FULL;
-- transaction
INSERT INTO p VALUES (1, 's', 1); INSERT INTO q VALUES (1, 'a', 2, 'v');
-- phase: stream
UPDATE p SET id = 2; DELETE FROM p; UPDATE q SET v = 'w'; UPDATE q SET a = 'b'; DELETE FROM q;
