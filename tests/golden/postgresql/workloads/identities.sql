-- property: skipped.operations=none
-- phase: setup
CREATE TABLE full_keyed (id int PRIMARY KEY, a text, b int NOT NULL); ALTER TABLE full_keyed REPLICA IDENTITY FULL;
CREATE TABLE full_keyless (a text, b int); ALTER TABLE full_keyless REPLICA IDENTITY FULL;
CREATE TABLE by_index (id int PRIMARY KEY, code text NOT NULL, a text); CREATE UNIQUE INDEX by_index_code ON by_index (code); ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_code;
CREATE TABLE composite (b int, a text, v int, PRIMARY KEY (a, b));
CREATE TABLE unique_only (code text NOT NULL UNIQUE, v int); ALTER TABLE unique_only REPLICA IDENTITY USING INDEX unique_only_code_key;
CREATE TABLE nothing_identity (id int PRIMARY KEY, v int); ALTER TABLE nothing_identity REPLICA IDENTITY NOTHING;
CREATE TABLE keyless (a int, b text);
-- transaction
INSERT INTO full_keyed VALUES (1, 'x', 1); INSERT INTO full_keyless VALUES ('x', 1); INSERT INTO by_index VALUES (1, 'c1', 'x'); INSERT INTO composite VALUES (1, 'k', 5); INSERT INTO unique_only VALUES ('u', 1); INSERT INTO nothing_identity VALUES (1, 1); INSERT INTO keyless VALUES (1, 'x');
-- phase: stream
INSERT INTO full_keyed VALUES (2, NULL, 2);
-- transaction
UPDATE full_keyed SET a = 'y' WHERE id = 1; UPDATE full_keyed SET id = 3 WHERE id = 2; DELETE FROM full_keyed WHERE id = 1;
-- transaction
INSERT INTO full_keyless VALUES ('y', 2); UPDATE full_keyless SET b = 3 WHERE a = 'x'; DELETE FROM full_keyless WHERE a = 'y';
-- transaction
INSERT INTO by_index VALUES (2, 'c2', 'y'); UPDATE by_index SET a = 'z' WHERE id = 1; UPDATE by_index SET code = 'c9' WHERE id = 1; UPDATE by_index SET id = 7 WHERE id = 2; DELETE FROM by_index WHERE id = 7;
-- transaction
INSERT INTO composite VALUES (2, 'k', 6); UPDATE composite SET v = 7 WHERE b = 1; UPDATE composite SET b = 9 WHERE b = 2; DELETE FROM composite WHERE b = 1;
-- transaction
INSERT INTO unique_only VALUES ('w', 2); UPDATE unique_only SET v = 3 WHERE code = 'u'; UPDATE unique_only SET code = 'z' WHERE code = 'u'; DELETE FROM unique_only WHERE code = 'w';
-- transaction
INSERT INTO nothing_identity VALUES (2, 2); INSERT INTO keyless VALUES (2, 'y');
