-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: time.precision.mode=isostring
-- property: decimal.handling.mode=string
-- property: binary.handling.mode=hex
-- property: hstore.handling.mode=map
-- property: interval.handling.mode=string
-- property: include.unknown.datatypes=true
-- phase: setup
CREATE TYPE citext; CREATE FUNCTION citext_in(cstring) RETURNS citext LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION citext_out(citext) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE citext (INPUT = citext_in, OUTPUT = citext_out, LIKE = text);
CREATE TYPE ltree; CREATE FUNCTION ltree_in(cstring) RETURNS ltree LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION ltree_out(ltree) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE ltree (INPUT = ltree_in, OUTPUT = ltree_out, LIKE = text);
CREATE TYPE isbn; CREATE FUNCTION isbn_in(cstring) RETURNS isbn LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION isbn_out(isbn) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE isbn (INPUT = isbn_in, OUTPUT = isbn_out, LIKE = text);
CREATE TYPE hstore; CREATE FUNCTION hstore_in(cstring) RETURNS hstore LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION hstore_out(hstore) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE hstore (INPUT = hstore_in, OUTPUT = hstore_out, LIKE = text);
CREATE TYPE geometry; CREATE FUNCTION geometry_in(cstring) RETURNS geometry LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION geometry_out(geometry) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE geometry (INPUT = geometry_in, OUTPUT = geometry_out, LIKE = text);
CREATE TYPE geography; CREATE FUNCTION geography_in(cstring) RETURNS geography LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION geography_out(geography) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE geography (INPUT = geography_in, OUTPUT = geography_out, LIKE = text);
CREATE FUNCTION as_xml(cstring) RETURNS xml LANGUAGE internal IMMUTABLE STRICT AS 'textin';CREATE EXTENSION vector; CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN price AS numeric(9,2); CREATE TYPE pair AS (a int, b text);
CREATE TABLE required (id int PRIMARY KEY, i2 int2 NOT NULL, i4 int4 NOT NULL, i8 int8 NOT NULL, oi oid NOT NULL, f4 real NOT NULL, f8 float8 NOT NULL, bo bool NOT NULL, n numeric(8,2) NOT NULL, nu numeric NOT NULL, mo money NOT NULL, te text NOT NULL, vc varchar(5) NOT NULL, bp char(3) NOT NULL, ch "char" NOT NULL, ba bytea NOT NULL, ip inet NOT NULL, ci cidr NOT NULL, ma macaddr NOT NULL, m8 macaddr8 NOT NULL, ir int4range NOT NULL, tr tsrange NOT NULL, uu uuid NOT NULL, js json NOT NULL, jb jsonb NOT NULL, xm xml NOT NULL, tv tsvector NOT NULL, b1 bit(1) NOT NULL, b5 bit(5) NOT NULL, vb varbit NOT NULL, d date NOT NULL, t time NOT NULL, t3 time(3) NOT NULL, ts timestamp NOT NULL, s3 timestamp(3) NOT NULL, tz timestamptz NOT NULL, z0 timestamptz(0) NOT NULL, tt timetz NOT NULL, iv interval NOT NULL, po point NOT NULL, ct citext NOT NULL, lt ltree NOT NULL, ib isbn NOT NULL, hs hstore NOT NULL, ge geometry NOT NULL, gg geography NOT NULL, ve vector(2) NOT NULL, hv halfvec(2) NOT NULL, en mood NOT NULL, pr price NOT NULL, lo pg_lsn NOT NULL, pa pair NOT NULL, ai int4[] NOT NULL, at text[] NOT NULL, an numeric(8,2)[] NOT NULL, ab bytea[] NOT NULL, ad date[] NOT NULL, ae mood[] NOT NULL, au uuid[] NOT NULL, az timestamptz[] NOT NULL);
-- transaction
INSERT INTO required VALUES (1, '1', '2', '3', '4', '1.5', '2.5', 't', '12.34', '5.6', '7.8', 'te', 'vc', 'bp', 'c', '\x01', '10.0.0.1', '10.0.0.0/8', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', '[1,5)', '[2024-01-01,2024-01-02)', '6f1c6e5e-7f5c-4f7a-8a35-0123456789ab', '{}', '{}', as_xml('<a/>'), '''a''', '1', '10101', '101', '2024-01-01', '01:02:03', '01:02:03', '2024-01-01', '2024-01-01', '2024-01-01 00:00+00', '2024-01-01 00:00+00', '01:02:03+00', '1 day', '(1,2)', 'ct', 'a.b', '0', '"a"=>"1"', '0101000000000000000000F03F0000000000000040', '0101000000000000000000F03F0000000000000040', '[1,2]', '[1,2]', 'sad', '1.5', '0/1', ROW(1,'x')::pair, '{1}', '{a}', '{1.5}', ARRAY['\x01'::bytea], '{2024-01-01}', '{sad}', '{6f1c6e5e-7f5c-4f7a-8a35-0123456789ab}', '{2024-01-01 00:00+00}');
-- phase: stream
INSERT INTO required SELECT 2, i2, i4, i8, oi, f4, f8, bo, n, nu, mo, te, vc, bp, ch, ba, ip, ci, ma, m8, ir, tr, uu, js, jb, xm, tv, b1, b5, vb, d, t, t3, ts, s3, tz, z0, tt, iv, po, ct, lt, ib, hs, ge, gg, ve, hv, en, pr, lo, pa, ai, at, an, ab, ad, ae, au, az FROM required WHERE id = 1;
-- transaction
UPDATE required SET id = 3 WHERE id = 1; DELETE FROM required WHERE id = 2;
