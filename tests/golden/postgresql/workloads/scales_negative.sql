-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE TABLE s (id int PRIMARY KEY, n numeric(5, -2), m numeric(3, 5), a numeric(5, -2)[]);
INSERT INTO s VALUES (1, 12345, 0.00123, '{12345}'), (2, 0, 0, NULL), (3, -9999900, -0.00999, '{0}');
-- phase: stream
INSERT INTO s VALUES (4, 12345, 0.00123, '{12345}'), (5, 0, 0, NULL), (6, -9999900, -0.00999, '{0}');
