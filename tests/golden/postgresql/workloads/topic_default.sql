-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: topic.naming.strategy=io.debezium.schema.DefaultTopicNamingStrategy
-- phase: setup
CREATE SCHEMA "my-schema";
CREATE TABLE "my-schema"."odd name" ("key-part" int, "1st" text, "_u" int, "é€" int, "a.b" int, "dollar$" int, "😀" int, PRIMARY KEY ("key-part", "1st"));
CREATE TABLE "my-schema"."9lives" (id int PRIMARY KEY);
CREATE TABLE "under_score" (id_x int PRIMARY KEY);
-- transaction
INSERT INTO "my-schema"."odd name" VALUES (1, 'x', 1, 2, 3, 4, 5); INSERT INTO "my-schema"."9lives" VALUES (1); INSERT INTO under_score VALUES (1);
-- phase: stream
INSERT INTO "my-schema"."odd name" VALUES (2, 'x', 1, 2, 3, 4, 5); UPDATE "my-schema"."odd name" SET "key-part" = 7 WHERE "key-part" = 1; INSERT INTO "my-schema"."9lives" VALUES (2); INSERT INTO under_score VALUES (2);
