-- property: unavailable.value.placeholder=GONE
-- phase: setup
CREATE FUNCTION long(n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT string_agg(md5(i::text), '') FROM generate_series(1, n) i $$;
CREATE TABLE toasted (id int PRIMARY KEY, v int, t text, tn text NOT NULL, j jsonb, ba bytea, ai int[], at text[], vc varchar(4000));
ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL, ALTER tn SET STORAGE EXTERNAL, ALTER j SET STORAGE EXTERNAL, ALTER ba SET STORAGE EXTERNAL, ALTER ai SET STORAGE EXTERNAL, ALTER at SET STORAGE EXTERNAL, ALTER vc SET STORAGE EXTERNAL;
CREATE TABLE toasted_full (LIKE toasted INCLUDING ALL); ALTER TABLE toasted_full REPLICA IDENTITY FULL;
-- transaction
INSERT INTO toasted VALUES (1, 1, 's', 'n', '{}', '\x01', '{1}', '{a}', 'v');
-- phase: stream
INSERT INTO toasted VALUES (2, 1, long(80), long(80), jsonb_build_object('k', long(80)), decode(long(150), 'hex'), (SELECT array_agg(i) FROM generate_series(1, 700) i), ARRAY[long(80)], long(80)); UPDATE toasted SET v = 2 WHERE id = 2; UPDATE toasted SET t = 'short' WHERE id = 2; UPDATE toasted SET id = 3 WHERE id = 2; DELETE FROM toasted WHERE id = 3;
-- transaction
INSERT INTO toasted_full VALUES (2, 1, long(80), long(80), '{}', '\x01', '{1}', '{a}', 'x'); UPDATE toasted_full SET v = 2 WHERE id = 2;
