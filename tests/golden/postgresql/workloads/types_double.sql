-- property: decimal.handling.mode=double
-- property: time.precision.mode=adaptive_time_microseconds
-- property: binary.handling.mode=base64
-- phase: setup
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE kinds (id int PRIMARY KEY, i2 int2, i8 int8, b bool, f4 real, f8 double precision, n numeric(10,3), nn numeric, c char(5), v varchar(9), t text, u uuid, j json, jb jsonb, ba bytea, d date, tm time, tm3 time(3), ts timestamp, ts0 timestamp(0), ts3 timestamp(3), tz timestamptz, tz3 timestamptz(3), m mood, o oid, nm name, ai int[], at text[], an numeric(8,2)[], ab bool[], au uuid[], ad date[], ats timestamp[], am mood[], aj jsonb[]);
-- transaction
CREATE PROCEDURE fill(first int) LANGUAGE sql AS $$
INSERT INTO kinds VALUES
(first, 1, 2, true, 1.5, 2.25, 123.456, 7.10, 'ab', 'cd', 'ef', '6f1c6e5e-7f5c-4f7a-8a35-0123456789ab', '{"a": 1}', '{"b": [1, 2.50]}', '\x00ff10', '2024-02-29', '12:34:56.789012', '01:02:03.004', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789012+02', '2024-02-29 12:34:56.7+02', 'ok', 4000000000, 'nm', '{1,NULL,-3}', '{a,"b c",NULL,"q\"\\"}', '{1.5,-2.25}', '{t,f,NULL}', '{6f1c6e5e-7f5c-4f7a-8a35-0123456789ab}', '{2024-01-01}', '{"2024-01-01 01:02:03.5"}', '{sad,happy}', ARRAY['{"x": 1}'::jsonb]),
(first + 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(first + 2, -32768, -9223372036854775808, false, 'NaN', 'Infinity', -0.001, -0.000000000000000000001, '', '', '', '00000000-0000-0000-0000-000000000000', 'null', '"\u00e9\ud83d\ude00"', '\x', '0044-03-15 BC', '24:00:00', '00:00', '0044-03-15 01:02:03.5 BC', '1969-12-31 23:59:59', 'infinity', '0001-01-01 00:00:00+00', '-infinity', 'sad', 0, '', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'),
(first + 3, 32767, 9223372036854775807, false, 1e20, 1e-7, 9999999.999, 123456789012345678901234567890.123456789, 'é', '日本語', E'tab\tnl\nq"\\\b\x01\x1f\x7f', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '{"z":1,"a":2,"z":3}', '{"n": 1e3, "big": 12345678901234567890}', '\xdeadbeef', '9999-12-31', '23:59:59.999999', '23:59:59.999', '9999-12-31 23:59:59.999999', '2000-01-01', '2000-01-01 00:00:00.001', '9999-12-31 23:59:59.999999+00', 'infinity', 'happy', 1, 'é', '{{1,2},{3,4}}', '{"",null,"null"}', '{NULL}', '{NULL}', '{NULL}', '{infinity}', '{infinity,NULL}', '{NULL}', '{NULL}'),
(first + 4, 0, 0, true, '-0', '-0', 0, 'NaN', 'x', 'x', 'x', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '[]', '[]', '\x00', '1970-01-01', '00:00:00', '12:00:00.5', '-infinity', '1970-01-01', '1970-01-01', 'epoch', 'epoch', 'ok', 2, 'x', '{1}', '{x}', '{0.00}', '{t}', NULL, '{-infinity}', '{-infinity}', '{ok}', NULL),
(first + 5, 0, 0, true, 123456.79, 1234567.8901, 0.5, 1e10, 'x', 'x', 'x', NULL, '[]', '[]', '\x00', '-infinity', '00:00:00.000001', '12:00:00.25', '1582-10-10 00:00', '1582-10-15', '0001-12-31 BC', '0044-03-15 00:00+00 BC', '1900-01-01 00:00:00.120+00', 'ok', 2, 'x', '{1}', '{x}', '{0.00}', '{t}', NULL, NULL, NULL, '{ok}', NULL)
$$;
-- transaction
CALL fill(1);
-- phase: stream
CALL fill(101);
