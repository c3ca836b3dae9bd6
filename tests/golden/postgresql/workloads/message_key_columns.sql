-- property: message.key.columns=public.(.*)keyed:code;public.none:a,b
-- phase: setup
CREATE TABLE keyed (id int PRIMARY KEY, code text, v int); ALTER TABLE keyed REPLICA IDENTITY FULL; CREATE TABLE none (b int, a text, v int); ALTER TABLE none REPLICA IDENTITY FULL;
-- transaction
INSERT INTO keyed VALUES (1, 'c', 1); INSERT INTO none VALUES (1, 'a', 1);
-- phase: stream
UPDATE keyed SET v = 2; UPDATE keyed SET code = 'd'; UPDATE keyed SET id = 5; DELETE FROM keyed; INSERT INTO none VALUES (2, NULL, 2); UPDATE none SET v = 3 WHERE b = 1; DELETE FROM none;
