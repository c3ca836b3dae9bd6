-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE DOMAIN price AS numeric(9,2) CHECK (VALUE >= 0); CREATE DOMAIN price2 AS price; CREATE DOMAIN email AS text; CREATE DOMAIN short AS varchar(8); CREATE DOMAIN flag AS bool; CREATE DOMAIN bits AS bit(3); CREATE DOMAIN moment AS timestamp(3); CREATE DOMAIN doc AS jsonb; CREATE DOMAIN ints AS int[]; CREATE DOMAIN blob AS bytea; CREATE DOMAIN span AS interval; CREATE DOMAIN addr AS inet; CREATE DOMAIN needed AS int NOT NULL; CREATE DOMAIN cash AS money; CREATE DOMAIN ident AS uuid; CREATE DOMAIN clock AS time(2);
CREATE TABLE domains (id int PRIMARY KEY, p price, pp price2, e email, s short, b flag, bs bits, ts moment, j doc, ia ints, by blob, iv span, ip addr, nn needed, mo cash, u ident, ti clock);
-- transaction
INSERT INTO domains VALUES
(1, '12.34', '1.5', 'a@b', 's', 't', '101', '2024-01-01 01:02:03.456', '{}', '{1,2}', '\x01', '1 day', '10.0.0.1', '7', '1.5', '6f1c6e5e-7f5c-4f7a-8a35-0123456789ab', '01:02:03.4'),
(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL);
-- phase: stream
INSERT INTO domains SELECT id + 100, p, pp, e, s, b, bs, ts, j, ia, by, iv, ip, nn, mo, u, ti FROM domains ORDER BY id;
-- transaction
UPDATE domains SET id = 200 WHERE id = 1; DELETE FROM domains WHERE id = 200;
