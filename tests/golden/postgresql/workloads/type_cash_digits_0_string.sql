-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: money.fraction.digits=0
-- property: decimal.handling.mode=string
-- phase: setup
CREATE TABLE cash (id int PRIMARY KEY, mo money, m2 money);
-- transaction
INSERT INTO cash VALUES
(1, '12.34', '0'),
(2, NULL, NULL),
(3, '-0.01', '-1234567.89'),
(4, '92233720368547758.07', '-92233720368547758.08'),
(5, '1000', '999.995');
-- phase: stream
INSERT INTO cash SELECT id + 100, mo, m2 FROM cash ORDER BY id;
