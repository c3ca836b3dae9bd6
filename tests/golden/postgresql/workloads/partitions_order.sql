-- phase: setup
CREATE TABLE parted (id int, region text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE z_eu PARTITION OF parted FOR VALUES IN ('eu');
CREATE TABLE a_us PARTITION OF parted FOR VALUES IN ('us');
CREATE TABLE m_as PARTITION OF parted FOR VALUES IN ('as');
CREATE TABLE y_plain (id int PRIMARY KEY);
CREATE TABLE b_plain (id int PRIMARY KEY);
INSERT INTO parted VALUES (1, 'eu'), (2, 'us'), (3, 'as'), (4, 'eu');
INSERT INTO y_plain VALUES (1);
INSERT INTO b_plain VALUES (1);
-- phase: stream
INSERT INTO parted VALUES (5, 'us'), (6, 'eu');
