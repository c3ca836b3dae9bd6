-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: recorder.pace=1.0
-- phase: setup
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE feelings (id int PRIMARY KEY, m mood NOT NULL, am mood[], n mood DEFAULT 'ok');
-- transaction
INSERT INTO feelings VALUES (1, 'sad', '{sad,ok}');
-- phase: stream
INSERT INTO feelings VALUES (2, 'ok', '{ok}', NULL);
-- transaction
ALTER TYPE mood ADD VALUE 'great';
-- transaction
ALTER TYPE mood ADD VALUE 'so-so' BEFORE 'ok';
-- transaction
INSERT INTO feelings VALUES (3, 'great', '{great,so-so}', 'so-so'); UPDATE feelings SET m = 'so-so' WHERE id = 1; DELETE FROM feelings WHERE id = 2;
