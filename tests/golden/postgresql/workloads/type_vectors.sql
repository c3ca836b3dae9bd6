-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE EXTENSION vector;
CREATE TABLE vectors (id int PRIMARY KEY, v vector(3), vu vector, h halfvec(2), s sparsevec, av vector[]);
-- transaction
INSERT INTO vectors VALUES
(1, '[1,2.5,-3]', '[0.1]', '[1,0.1]', '{1:1.5,3:-2}/5', '{"[1,2]"}'),
(2, NULL, NULL, NULL, NULL, NULL),
(3, '[0,0,0]', '[1e-7,1e30]', '[0,65504]', '{}/5', '{}'),
(4, '[1,2,3]', '[1]', '[1,2]', '{100:100,197:197,294:294,391:391,488:488,585:585,682:682,779:779,876:876,973:973,1070:1070,1167:1167,1264:1264,1361:1361,1458:1458,1555:1555,1652:1652,1749:1749,1846:1846,1943:1943,2040:2040,2137:2137,2234:2234,2331:2331,2428:2428,2525:2525,2622:2622,2719:2719,2816:2816,2913:2913}/5000', '{}'),
(5, '[1,2,3]', '[1]', '[1,2]', '{40000:1}/50000', '{}');
-- phase: stream
INSERT INTO vectors SELECT id + 100, v, vu, h, s, av FROM vectors ORDER BY id;
