-- property: recorder.pace=1.5
-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE e (id int PRIMARY KEY, m mood);
INSERT INTO e VALUES (1, 'ok');
-- phase: stream
INSERT INTO e VALUES (2, 'sad');
-- transaction
ALTER TYPE mood ADD VALUE 'happy';
-- transaction
INSERT INTO e VALUES (3, 'happy');
-- transaction
ALTER TABLE e ADD COLUMN t text;
INSERT INTO e VALUES (4, 'happy', 'a');
-- transaction
ALTER TYPE mood RENAME VALUE 'ok' TO 'fine';
-- transaction
INSERT INTO e VALUES (5, 'fine', 'b');
