-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE TYPE citext; CREATE FUNCTION citext_in(cstring) RETURNS citext LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION citext_out(citext) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE citext (INPUT = citext_in, OUTPUT = citext_out, LIKE = text);
CREATE TYPE ltree; CREATE FUNCTION ltree_in(cstring) RETURNS ltree LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION ltree_out(ltree) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE ltree (INPUT = ltree_in, OUTPUT = ltree_out, LIKE = text);
CREATE TYPE hstore; CREATE FUNCTION hstore_in(cstring) RETURNS hstore LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION hstore_out(hstore) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE hstore (INPUT = hstore_in, OUTPUT = hstore_out, LIKE = text);
CREATE TYPE geometry; CREATE FUNCTION geometry_in(cstring) RETURNS geometry LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION geometry_out(geometry) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE geometry (INPUT = geometry_in, OUTPUT = geometry_out, LIKE = text);
CREATE TYPE geography; CREATE FUNCTION geography_in(cstring) RETURNS geography LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION geography_out(geography) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE geography (INPUT = geography_in, OUTPUT = geography_out, LIKE = text);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'a,b');
CREATE TABLE arrays (id int PRIMARY KEY, i2 int2[], i4 int4[], i8 int8[], oi oid[], f4 real[], f8 float8[], bo bool[], te text[], vc varchar(5)[], bp char(3)[], ch "char"[], ip inet[], ci cidr[], ma macaddr[], m8 macaddr8[], r4 int4range[], r8 int8range[], rn numrange[], rt tsrange[], rz tstzrange[], rd daterange[], uu uuid[], js json[], jb jsonb[], ct citext[], lt ltree[], hs hstore[], en mood[], tv tsvector[], ge geometry[], gg geography[]);
-- transaction
INSERT INTO arrays VALUES
(1, '{1,-2}', '{1,NULL,-3}', '{9223372036854775807}', '{4294967295}', '{1.5,NULL}', '{2.25,1e20}', '{t,f,NULL}', '{a,"b c",NULL,"q\"\\",""}', '{abcde}', '{ab}', '{z}', '{10.0.0.1,::1/64}', '{10.0.0.0/8}', '{08:00:2b:01:02:03}', '{08:00:2b:01:02:03:04:05}', '{"[1,5)",empty}', '{"[1,5)"}', '{"(1.5,)"}', '{"[2024-01-01,2024-01-02)"}', '{"[2024-01-01 00:00+00,infinity)"}', '{"[2024-01-01,2024-02-01)"}', '{6f1c6e5e-7f5c-4f7a-8a35-0123456789ab}', '{"{\"a\": 1}","null"}', '{"{\"a\": 1}"}', '{MiXed,NULL}', '{Top.Science,a}', '{"\"a\"=>\"1\""}', '{sad,ok}', '{"''a'':1"}', '{0101000000000000000000F03F0000000000000040}', '{0101000020E6100000000000000000F03F0000000000000040}'),
(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(3, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}');
-- phase: stream
INSERT INTO arrays SELECT id + 100, i2, i4, i8, oi, f4, f8, bo, te, vc, bp, ch, ip, ci, ma, m8, r4, r8, rn, rt, rz, rd, uu, js, jb, ct, lt, hs, en, tv, ge, gg FROM arrays ORDER BY id;
