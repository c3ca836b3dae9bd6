-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: include.schema.comments=true
-- property: column.propagate.source.type=public.c.v
-- phase: setup
CREATE TABLE c (id int PRIMARY KEY, v varchar(9), w text); COMMENT ON COLUMN c.id IS 'the key'; COMMENT ON COLUMN c.v IS 'quoted "text"
and a line'; COMMENT ON TABLE c IS 'table';
-- transaction
INSERT INTO c VALUES (1, 'x', 'y');
-- phase: stream
INSERT INTO c VALUES (2, 'x', 'y');
