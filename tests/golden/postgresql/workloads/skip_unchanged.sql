-- property: skip.messages.without.change=true
-- property: column.exclude.list=public.(f|p).hidden
-- property: column.mask.with.3.chars=public.(f|p).masked
-- property: column.truncate.to.3.chars=public.(f|p).cut
-- phase: setup
CREATE TABLE f (id int PRIMARY KEY, v int, hidden text, masked text, cut text, nn numeric, t text, dbl float8); ALTER TABLE f REPLICA IDENTITY FULL; CREATE TABLE p (LIKE f INCLUDING ALL);
ALTER TABLE f ALTER t SET STORAGE EXTERNAL;
-- transaction
INSERT INTO f VALUES (1, 1, 'h', 'm', 'cutxyz', 1.0, repeat('long', 1000), 1.5); INSERT INTO p SELECT * FROM f;
-- phase: stream
UPDATE f SET v = 1; UPDATE f SET hidden = 'i'; UPDATE f SET masked = 'other'; UPDATE f SET cut = 'cutabc'; UPDATE f SET nn = 1.00; UPDATE f SET nn = 2; UPDATE f SET v = NULL; UPDATE f SET v = NULL, hidden = 'j'; UPDATE f SET cut = 'abc'; UPDATE f SET id = 1; UPDATE f SET t = 'x'; UPDATE f SET dbl = '-0'; UPDATE f SET dbl = 0; UPDATE f SET dbl = 'NaN'; UPDATE f SET dbl = 'NaN', hidden = 'k';
-- transaction
UPDATE p SET v = 1; UPDATE p SET hidden = 'i'; UPDATE p SET v = 5;
-- transaction
UPDATE f SET v = NULL;
