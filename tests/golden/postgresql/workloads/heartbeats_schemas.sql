-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: topic.heartbeat.name=beats
-- property: heartbeat.interval.ms=600000
-- phase: setup
CREATE TABLE a (id int PRIMARY KEY, v int);
-- transaction
INSERT INTO a VALUES (1, 1);
-- phase: stream
INSERT INTO a VALUES (2, 2);
