-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE TYPE level AS ENUM ('low', 'high');
CREATE TABLE strict (id int PRIMARY KEY, i2 int2 NOT NULL, i8 int8 NOT NULL, b bool NOT NULL, f4 real NOT NULL, f8 float8 NOT NULL, n numeric(8,2) NOT NULL, nn numeric NOT NULL, t text NOT NULL, c char(3) NOT NULL, u uuid NOT NULL, j jsonb NOT NULL, ba bytea NOT NULL, d date NOT NULL, tm time NOT NULL, ts timestamp NOT NULL, ts3 timestamp(3) NOT NULL, tz timestamptz NOT NULL, l level NOT NULL, ai int[] NOT NULL);
-- transaction
INSERT INTO strict VALUES (1, 1, 2, true, 1, 2, 3.5, 4.25, 't', 'c', '6f1c6e5e-7f5c-4f7a-8a35-0123456789ab', '{}', '\x01', '2024-01-01', '01:00', '2024-01-01', '2024-01-01', '2024-01-01+00', 'low', '{1}');
-- phase: stream
INSERT INTO strict SELECT 2, i2, i8, b, f4, f8, n, nn, t, c, u, j, ba, d, tm, ts, ts3, tz, l, ai FROM strict WHERE id = 1; UPDATE strict SET i2 = 9 WHERE id = 1; UPDATE strict SET id = 5 WHERE id = 2; DELETE FROM strict WHERE id = 5;
