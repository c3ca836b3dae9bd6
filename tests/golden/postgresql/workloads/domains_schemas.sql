-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE DOMAIN price AS numeric(9,2) CHECK (VALUE >= 0); CREATE DOMAIN email AS text; CREATE DOMAIN short AS varchar(8);
CREATE TABLE d (id int PRIMARY KEY, p price, e email, s short, ip inet, ci cidr, ma macaddr, m8 macaddr8, ir int4range, nr numrange, tr tsrange, tt timetz, tv tsvector, b1 bit(1), b8 bit(8), bv varbit(5), mo money, iv interval, po point);
-- transaction
INSERT INTO d VALUES (1, 12.34, 'a@b', 's', '10.0.0.1/8', '10.0.0.0/8', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', '[1,5)', '(1.5,)', '["2024-01-01","2024-01-02")', '01:02:03.5+02', 'a:1', B'1', B'10000001', B'101', 12.34, '1 year 2 mons 3 days 04:05:06', '(1,2)');
-- phase: stream
INSERT INTO d SELECT 2, p, e, s, ip, ci, ma, m8, ir, nr, tr, tt, tv, b1, b8, bv, mo, iv, po FROM d WHERE id = 1;
