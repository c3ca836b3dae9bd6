-- property: publish.via.partition.root=true
-- phase: setup
CREATE TABLE parted (id int, region text, v int, PRIMARY KEY (id, region)) PARTITION BY LIST (region); CREATE TABLE parted_eu PARTITION OF parted FOR VALUES IN ('eu'); CREATE TABLE parted_us PARTITION OF parted FOR VALUES IN ('us');
-- transaction
INSERT INTO parted VALUES (1, 'eu', 1), (2, 'us', 2);
-- phase: stream
INSERT INTO parted VALUES (3, 'eu', 3), (4, 'us', 4); UPDATE parted SET v = 9 WHERE id = 1; UPDATE parted SET region = 'us' WHERE id = 3; DELETE FROM parted WHERE id = 2;
