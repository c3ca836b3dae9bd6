-- property: snapshot.select.statement.overrides=public.a, public.b,public.d
-- property: snapshot.select.statement.overrides.public.a=SELECT * FROM a WHERE id < 3 ORDER BY id DESC
-- property: snapshot.select.statement.overrides.public.b=SELECT gone, id, upper(v)::varchar(20) AS v, n FROM public.b WHERE NOT gone
-- property: snapshot.select.statement.overrides.public.d=SELECT * FROM d WHERE false
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE b (id int PRIMARY KEY, v varchar(20), n numeric(8,2), gone boolean); CREATE TABLE c (id int PRIMARY KEY); CREATE TABLE d (id int PRIMARY KEY);
-- transaction
INSERT INTO a VALUES (1, 'x'), (2, 'y'), (3, 'left out'); INSERT INTO b VALUES (1, 'z', 1.50, false), (2, 'z', 2, true), (3, NULL, NULL, false); INSERT INTO c VALUES (1), (2); INSERT INTO d VALUES (1);
-- phase: stream
INSERT INTO a VALUES (4, 'streamed');
