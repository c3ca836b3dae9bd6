-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: topic.naming.strategy=io.debezium.schema.DefaultRegexTopicNamingStrategy
-- property: topic.regex=(.*)shard_[0-9]+
-- property: topic.replacement=$1all_shards
-- property: topic.key.field.name=__from
-- property: topic.key.field.regex=.*(shard_[0-9]+)
-- property: topic.key.field.replacement=<$1>
-- phase: setup
CREATE TABLE shard_1 (id int PRIMARY KEY, v int); CREATE TABLE shard_2 (id int PRIMARY KEY, v int); CREATE TABLE other (id int PRIMARY KEY); CREATE TABLE keyless_shard_3 (v int);
-- transaction
INSERT INTO shard_1 VALUES (1, 1); INSERT INTO shard_2 VALUES (1, 1); INSERT INTO other VALUES (1); INSERT INTO keyless_shard_3 VALUES (1);
-- phase: stream
INSERT INTO shard_1 VALUES (2, 1); INSERT INTO shard_2 VALUES (2, 2); UPDATE shard_1 SET id = 9 WHERE id = 1; DELETE FROM shard_2 WHERE id = 1; INSERT INTO keyless_shard_3 VALUES (2); INSERT INTO other VALUES (2);
