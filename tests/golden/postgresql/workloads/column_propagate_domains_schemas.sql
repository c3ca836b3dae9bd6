-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: column.propagate.source.type=public.t.(a.|v.*|ts)
-- property: include.unknown.datatypes=true
-- phase: setup
CREATE DOMAIN v5 AS varchar(5); CREATE DOMAIN price AS numeric(6,2); CREATE DOMAIN prices AS price[]; CREATE DOMAIN codes AS varchar(5)[];
CREATE TABLE t (id int PRIMARY KEY, av v5[], an price[], vs codes, v varchar(5)[], ts timestamp(3)[]);
-- transaction
INSERT INTO t VALUES (1, '{ab}', '{1.5}', '{ab,NULL}', '{ab}', '{2024-01-01}');
-- phase: stream
INSERT INTO t SELECT 2, av, an, vs, v, ts FROM t;
