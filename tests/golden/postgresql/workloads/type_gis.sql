-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE TYPE geometry; CREATE FUNCTION geometry_in(cstring) RETURNS geometry LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION geometry_out(geometry) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE geometry (INPUT = geometry_in, OUTPUT = geometry_out, LIKE = text);
CREATE TYPE geography; CREATE FUNCTION geography_in(cstring) RETURNS geography LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION geography_out(geography) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE geography (INPUT = geography_in, OUTPUT = geography_out, LIKE = text);
CREATE TABLE gis (id int PRIMARY KEY, po point, ge geometry, gg geography);
-- transaction
INSERT INTO gis VALUES
(1, '(1,2)', '0101000000000000000000F03F0000000000000040', '0101000020E6100000000000000000F03F0000000000000040'),
(2, NULL, NULL, NULL),
(3, '(-1.5e300,1e-7)', '0101000020E6100000000000000000F03F0000000000000040', '0101000020110F00009279E40F9E2140413D0AD7A3703D0A40'),
(4, '(0,-0)', '00000000013FF00000000000004000000000000000', '0020000001000010E63FF00000000000004000000000000000'),
(5, '(NaN,Infinity)', '010700000000000000', '0101000020E6100000000000000000F03F0000000000000040');
-- phase: stream
INSERT INTO gis SELECT id + 100, po, ge, gg FROM gis ORDER BY id;
