-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: binary.handling.mode=base64
-- property: include.unknown.datatypes=true
-- phase: setup
CREATE TYPE pair AS (a int, b text); CREATE DOMAIN price AS numeric(7,2); CREATE FUNCTION as_xml(cstring) RETURNS xml LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE TABLE blobs (id int PRIMARY KEY, ba bytea, aba bytea[], pl pg_lsn, tq tsquery, pair pair, mr int4multirange, jp jsonpath, x8 xid8, sn pg_snapshot, rc regclass, mo money[], iv interval[], pt point[], xm xml[], nm name[], vb varbit(5)[], ap pair[], ad price[], al pg_lsn[]);
-- transaction
INSERT INTO blobs VALUES
(1, '\x00ff10', ARRAY['\x00ff'::bytea, NULL, '\x'], '16/B374D848', '''fat'' & (''rat'' | ''cat'')', ROW(1,'a"b')::pair, '{[1,3),[5,7)}', '$."a"[*]', '1234567890123', '100:200:150', 'pg_class', '{1.50,NULL}', '{1 day}', '{"(1,2)"}', ARRAY[as_xml('<a/>')], '{nm}', '{101}', ARRAY[ROW(1,'x')::pair], '{1.50}', '{0/1}'),
(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(3, '\x', '{}', '0/0', '', ROW(NULL,NULL)::pair, '{}', '$', '0', '1:1:', '-', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'),
(4, '\xfbff3e', ARRAY['\xfbef'::bytea], 'FFFFFFFF/FFFFFFFF', '!a', ROW(2,'é')::pair, '{(,)}', 'strict $.a', '18446744073709551615', '1:2:1', 'pg_type', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}');
-- phase: stream
INSERT INTO blobs SELECT id + 100, ba, aba, pl, tq, pair, mr, jp, x8, sn, rc, mo, iv, pt, xm, nm, vb, ap, ad, al FROM blobs ORDER BY id;
-- transaction
SELECT pg_logical_emit_message(true, 'p', '\xfbff00'::bytea);
