-- property: column.mask.hash.SHA-256.with.salt.CzQMA0cB5K=public.h.(a|b|c|d|e|k|l|n|id)
-- phase: setup
CREATE TABLE h (id int PRIMARY KEY, a text, b text NOT NULL, c varchar(10), d varchar(200), e char(6), k text, l varchar(9) DEFAULT 'def', n int);
CREATE FUNCTION long(n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT string_agg(md5(i::text), '') FROM generate_series(1, n) i $$;
ALTER TABLE h ALTER k SET STORAGE EXTERNAL;
-- transaction
INSERT INTO h VALUES (1, 'plain', 'é日本😀', 'short', 'text', 'ab', 'k', 'l', 1), (2, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL), (3, '', E'q"\\ \t\x01', '0123456789', repeat('y', 200), 'abcdef', long(3000), '123456789', 2);
-- phase: stream
INSERT INTO h VALUES (101, 'plain', 'é日本😀', 'short', 'text', 'ab', 'k', 'l', 1), (102, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL), (103, '', E'q"\\ \t\x01', '0123456789', repeat('y', 200), 'abcdef', long(3000), '123456789', 2); UPDATE h SET n = 9 WHERE id = 103; UPDATE h SET id = 200 WHERE id = 101; DELETE FROM h WHERE id = 3;
