-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE TABLE shapes (id int PRIMARY KEY, bo box, ls lseg, pa path, pg polygon, ci circle, li line);
-- transaction
INSERT INTO shapes VALUES
(1, '(3,4),(1,2)', '[(1,2),(3,4)]', '[(1,2),(3,4),(5,6)]', '((0,0),(0,1),(1,1))', '<(1,2),3>', '{1,2,3}'),
(2, NULL, NULL, NULL, NULL, NULL, NULL),
(3, '(0,0),(0,0)', '[(-1.5,1e300),(0,0)]', '((1,2),(3,4),(5,6))', '((1,1))', '<(-1.5,0),0>', '{-1.5,0,1e-7}');
-- phase: stream
INSERT INTO shapes SELECT id + 100, bo, ls, pa, pg, ci, li FROM shapes ORDER BY id;
