-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE TYPE citext; CREATE FUNCTION citext_in(cstring) RETURNS citext LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION citext_out(citext) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE citext (INPUT = citext_in, OUTPUT = citext_out, LIKE = text);
CREATE TYPE ltree; CREATE FUNCTION ltree_in(cstring) RETURNS ltree LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION ltree_out(ltree) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE ltree (INPUT = ltree_in, OUTPUT = ltree_out, LIKE = text);
CREATE TYPE isbn; CREATE FUNCTION isbn_in(cstring) RETURNS isbn LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION isbn_out(isbn) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE isbn (INPUT = isbn_in, OUTPUT = isbn_out, LIKE = text);
CREATE FUNCTION as_xml(cstring) RETURNS xml LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE TABLE texts (id int PRIMARY KEY, ip inet, ci cidr, ma macaddr, m8 macaddr8, x xml, i4 int4range, i8 int8range, nr numrange, tr tsrange, tz tstzrange, dr daterange, tv tsvector, ct citext, lt ltree, ib isbn, ch "char", bp char(4), c1 char, vu varchar, js json, nm name);
-- transaction
INSERT INTO texts VALUES
(1, '10.0.0.1/8', '10.0.0.0/8', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', as_xml('<a b="1">é</a>'), '[1,5)', '[-9223372036854775808,5)', '(1.5,2.50]', '["2024-01-01 01:02:03.5","2024-01-02")', '[2024-01-01 00:00+02,infinity)', '[2024-01-01,2024-02-01]', 'a:1A fat:2B,4C cat:5D', 'MiXed', 'Top.Science', '0-393-04002-X', 'z', 'ab', 'c', 'vu', '{"a": 1,  "b":2}', 'nm'),
(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(3, '::1/128', '2001:db8::/32', 'ff:ff:ff:ff:ff:ff', '00:00:00:00:00:00:00:00', as_xml(''), 'empty', '(,)', '[NaN,NaN]', '(-infinity,infinity)', 'empty', '(,)', '', '', '', '', '', '', '', '', 'null', ''),
(4, '::ffff:1.2.3.4', '192.168.100.128/25', '00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff:ff:ff', as_xml('text only <!-- c -->'), '(,5]', '[1,2]', '(,)', '[0044-03-15 BC,9999-12-31]', '[0044-03-15 00:00+00 BC,)', '[0044-03-15 BC,infinity)', '''a\'''':1 ''b c''', 'é😀', 'a', 'x', '\', 'abcd', 'é', '"q"\ 	', '[1, 2]', 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn');
-- phase: stream
INSERT INTO texts SELECT id + 100, ip, ci, ma, m8, x, i4, i8, nr, tr, tz, dr, tv, ct, lt, ib, ch, bp, c1, vu, js, nm FROM texts ORDER BY id;
