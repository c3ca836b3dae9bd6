-- property: column.truncate.to.2.chars=public.h.(a|b)
-- property: column.mask.with.5.chars=public.h.(a|c)
-- property: column.propagate.source.type=public.h.(d|c)
-- property: column.mask.hash.MD5.with.salt.A=public.h.(d|e)
-- property: column.mask.hash.v2.MD5.with.salt.A=public.h.(e|k)
-- property: datatype.propagate.source.type=public.h.varchar
-- property: column.truncate.to.0.chars=public.h2.a
-- phase: setup
CREATE TABLE h (id int PRIMARY KEY, a text, b text NOT NULL, c varchar(10), d varchar(200), e char(6), k text, l varchar(9) DEFAULT 'def', n int);
CREATE FUNCTION long(n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT string_agg(md5(i::text), '') FROM generate_series(1, n) i $$;
ALTER TABLE h ALTER k SET STORAGE EXTERNAL;
CREATE TABLE h2 (id int PRIMARY KEY, a text, b bytea);
-- transaction
INSERT INTO h VALUES (1, 'plain', 'é日本😀', 'short', 'text', 'ab', 'k', 'l', 1), (2, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL), (3, '', E'q"\\ \t\x01', '0123456789', repeat('y', 200), 'abcdef', long(3000), '123456789', 2); INSERT INTO h2 VALUES (1, 'abc');
-- phase: stream
INSERT INTO h VALUES (101, 'plain', 'é日本😀', 'short', 'text', 'ab', 'k', 'l', 1), (102, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL), (103, '', E'q"\\ \t\x01', '0123456789', repeat('y', 200), 'abcdef', long(3000), '123456789', 2); UPDATE h SET n = 9 WHERE id = 103; UPDATE h SET id = 200 WHERE id = 101; DELETE FROM h WHERE id = 3;
