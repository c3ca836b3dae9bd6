-- phase: setup
CREATE TABLE "Mixed Case é" (id int PRIMARY KEY, "select" text, "Größe" text, "a.b" int);
CREATE SCHEMA "My-Schema"; CREATE TABLE "My-Schema"."t$1" (id int PRIMARY KEY, v text);
-- transaction
INSERT INTO "Mixed Case é" VALUES (1, E'\x01\x02\x03\x04\x05\x06\x07\b\t\n\x0b\f\r\x0e\x1f "\\/ \x7f', E'\u0080\u00a0\u2028\u2029\uffff 😀', 1); INSERT INTO "My-Schema"."t$1" VALUES (1, 'x');
-- phase: stream
INSERT INTO "Mixed Case é" VALUES (2, E'\x01\x02\x03\x04\x05\x06\x07\b\t\n\x0b\f\r\x0e\x1f "\\/ \x7f', E'\u0080\u00a0\u2028\u2029\uffff 😀', 1); INSERT INTO "My-Schema"."t$1" VALUES (2, '</script>');
