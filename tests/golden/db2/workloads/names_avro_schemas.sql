-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: schema.name.adjustment.mode=avro
-- property: field.name.adjustment.mode=avro
-- phase: setup
CREATE SCHEMA "my-schema";
CREATE TABLE "my-schema"."odd name" ("key-part" INTEGER NOT NULL PRIMARY KEY, "1st" VARCHAR(9), "_u" INTEGER, "é" INTEGER, "dollar$" INTEGER);
CALL ASNCDC.ADDTABLE('my-schema', 'odd name', 'CDC_odd');
-- transaction
INSERT INTO "my-schema"."odd name" VALUES (1, 'x', 1, 2, 3);
-- phase: stream
INSERT INTO "my-schema"."odd name" VALUES (2, 'x', 1, 2, 3);
UPDATE "my-schema"."odd name" SET "key-part" = 7 WHERE "key-part" = 1;
