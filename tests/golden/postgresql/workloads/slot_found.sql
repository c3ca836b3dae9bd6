-- property: publication.name=dbz_publication
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE b (id int PRIMARY KEY, v text);
-- transaction
CREATE PUBLICATION dbz_publication FOR ALL TABLES;
-- transaction
INSERT INTO a VALUES (1, 'x'); INSERT INTO b VALUES (1, 'y');
-- transaction
SELECT pg_create_logical_replication_slot('golden', 'pgoutput');
-- phase: stream
INSERT INTO a VALUES (2, 'x');
