-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE TABLE intervals (id int PRIMARY KEY, iv interval, i3 interval(3), i0 interval(0), ym interval year to month, ds interval day to second(2));
-- transaction
INSERT INTO intervals VALUES
(1, '1 year 2 mons 3 days 04:05:06.78', '1 year 2 mons 3 days 04:05:06.789', '1 year 2 mons 3 days 04:05:06', '1 year 2 mons', '3 days 04:05:06.78'),
(2, NULL, NULL, NULL, NULL, NULL),
(3, '0', '0', '0', '0', '0'),
(4, '-1 year -2 mons -3 days -04:05:06.78', '-00:00:00.001', '-1 sec', '-11 mons', '-1 day +02:03:04.5'),
(5, '1 year -3 days 04:05:06', '-1 mons +1 day -00:00:01.5', '25:00:00', '13 mons', '1 day -00:00:00.01'),
(6, '00:00:00.000001', '00:00:00.1', '100000:59:59', '100 years', '-23:59:59.99'),
(7, '-00:00:00.000001', '999 days', '1 mon', '1 mon', '1 mon 1 sec'),
(8, '178000000 years', '-178000000 years', '2147483647 days', '178000000 years', '-2147483647 days'),
(9, '1 day 00:00:00.1234567', '00:59:59.999', '1 year', '-1 year', '1000000:00:54.77'),
(10, '00:00:00.3', '00:00:12.345678', '-1 year 1 sec', '1 year 1 mon', '00:00:29.07');
-- phase: stream
INSERT INTO intervals SELECT id + 100, iv, i3, i0, ym, ds FROM intervals ORDER BY id;
