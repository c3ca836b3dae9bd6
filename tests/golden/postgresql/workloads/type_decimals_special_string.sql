-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: decimal.handling.mode=string
-- phase: setup
CREATE TABLE decimals_special (id int PRIMARY KEY, n numeric(10,3), nn numeric, an numeric(8,2)[], anu numeric[], f4 real, f8 float8, af4 real[], af8 float8[]);
-- transaction
INSERT INTO decimals_special VALUES
(1, 'NaN', 'NaN', '{NaN,1.5}', '{NaN,1.5}', 'NaN', 'NaN', '{NaN,Infinity,1.5}', '{NaN,-Infinity,1.5}'),
(2, '1', 'Infinity', '{1}', '{Infinity,-Infinity}', 'Infinity', '-Infinity', '{-0}', '{-0,1e300}'),
(3, '1', '-Infinity', '{NULL}', '{1}', '-0', '-0', '{}', '{}');
-- phase: stream
INSERT INTO decimals_special SELECT id + 100, n, nn, an, anu, f4, f8, af4, af8 FROM decimals_special ORDER BY id;
