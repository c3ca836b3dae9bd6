-- property: key.converter.replace.null.with.default=false
-- property: value.converter.replace.null.with.default=false
-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE TABLE d (id int PRIMARY KEY, t text DEFAULT 'by default', n int NOT NULL DEFAULT 7);
INSERT INTO d VALUES (1, NULL, 1);
-- phase: stream
INSERT INTO d VALUES (3, NULL, 2);
-- transaction
UPDATE d SET id = 5 WHERE id = 3;
-- transaction
DELETE FROM d WHERE id = 1;
