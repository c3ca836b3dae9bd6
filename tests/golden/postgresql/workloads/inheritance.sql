-- phase: setup
CREATE TABLE parent (id int PRIMARY KEY, v text);
CREATE TABLE child (w text, PRIMARY KEY (id)) INHERITS (parent);
INSERT INTO parent VALUES (1, 'p');
INSERT INTO child VALUES (2, 'c', 'w');
-- phase: stream
INSERT INTO parent VALUES (3, 'p');
INSERT INTO child VALUES (4, 'c', 'w');
