-- property: event.processing.failure.handling.mode=warn
-- phase: setup
CREATE TABLE n (id int PRIMARY KEY, v numeric(9,2), w numeric); CREATE TABLE nn (id int PRIMARY KEY, v numeric(9,2) NOT NULL);
-- transaction
INSERT INTO n VALUES (1, 'NaN', 1), (2, 1, 'NaN'), (3, 1, 1);
-- phase: stream
INSERT INTO n VALUES (11, 'NaN', 1), (12, 1, 'Infinity'), (13, 1, 1);
INSERT INTO nn VALUES (1, 1), (2, 'NaN'), (3, 3);
