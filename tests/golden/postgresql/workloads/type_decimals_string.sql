-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: decimal.handling.mode=string
-- phase: setup
CREATE DOMAIN price AS numeric(7,2); CREATE DOMAIN udec AS numeric;
CREATE TABLE decimals (id int PRIMARY KEY, n numeric(10,3), nn numeric, n0 numeric(38,0), small numeric(3,5), big numeric(60,30), pr price, du udec, an numeric(8,2)[], anu numeric[], f4 real, f8 float8);
-- transaction
INSERT INTO decimals VALUES
(1, '123.456', '7.10', '12345678901234567890123456789012345678', '0.00123', '123456789012345678901234567890.123456789012345678901234567890', '12.30', '1.500', '{1.5,-2.25,NULL}', '{1.50,NULL,100}', '1.5', '2.25'),
(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(3, '-0.001', '-0.000000000000000000001', '-1', '-0.00001', '-0.000000000000000000000000000001', '0', '0.000', '{0,0.01}', '{0.000,-10}', '0.1', '0.1'),
(4, '0', '0', '0', '0', '0', '99999.99', '1e20', '{}', '{}', '3.4028235e38', '1.7976931348623157e308'),
(5, '9999999.999', '1e130', '99999999999999999999999999999999999999', '0.00999', '1', '1', '-1e-20', '{999999.99}', '{1e30,1e-30}', '1e-45', '5e-324'),
(6, '127.5', '12345678901234567890', '128', '0.00128', '128', '1.28', '255', '{1.27,1.28,-1.28,-1.29,327.67,327.68}', '{127,128,-128,-129}', '1e10', '1e22');
-- phase: stream
INSERT INTO decimals SELECT id + 100, n, nn, n0, small, big, pr, du, an, anu, f4, f8 FROM decimals ORDER BY id;
