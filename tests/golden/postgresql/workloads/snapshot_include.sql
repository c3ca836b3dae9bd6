-- property: table.include.list=public.b,public.a,public.c,public.d
-- property: snapshot.include.collection.list=public.C,public.(a|b)
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY); CREATE TABLE d (id int PRIMARY KEY);
-- transaction
INSERT INTO a VALUES (1), (2); INSERT INTO b VALUES (1); INSERT INTO c VALUES (1), (2), (3); INSERT INTO d VALUES (1);
-- phase: stream
INSERT INTO d VALUES (2); INSERT INTO a VALUES (3);
