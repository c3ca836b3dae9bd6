-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: column.propagate.source.type=.*
-- property: column.truncate.to.1.chars=public.m.(t1|odd)
-- phase: setup
CREATE SCHEMA other; CREATE TYPE other.mood AS ENUM ('sad'); CREATE DOMAIN other.inner_int AS int; CREATE DOMAIN outer_int AS other.inner_int; CREATE DOMAIN plain AS text;
CREATE TABLE m (id serial PRIMARY KEY, b bigserial, s smallserial, t1 text, om other.mood, d1 outer_int, d2 plain, nm name, x xml, c1 cidr, t0 time(0), ts1 timestamp(1), tz0 timetz(2), f float4[], tsa timestamptz(1)[], v varchar(3) DEFAULT 'xyz', "Odd" int4);
-- transaction
INSERT INTO m (t1, om, d1) VALUES ('abc', 'sad', 1);
-- phase: stream
INSERT INTO m (t1, om, d1) VALUES ('abc', 'sad', 1);
