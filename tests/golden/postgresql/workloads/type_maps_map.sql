-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- property: hstore.handling.mode=map
-- phase: setup
CREATE TYPE hstore; CREATE FUNCTION hstore_in(cstring) RETURNS hstore LANGUAGE internal IMMUTABLE STRICT AS 'textin'; CREATE FUNCTION hstore_out(hstore) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'; CREATE TYPE hstore (INPUT = hstore_in, OUTPUT = hstore_out, LIKE = text);
CREATE TABLE maps (id int PRIMARY KEY, h hstore);
-- transaction
INSERT INTO maps VALUES
(1, '"a"=>"1"'),
(2, NULL),
(3, ''),
(4, '"key 1"=>NULL'),
(5, '"q\"\\"=>"é😀 \" \\ "'),
(6, '"only"=>"x	y"'),
(7, '"NULL"=>"NULL"'),
(8, '""=>""'),
(9, '"a"=>"1", "b"=>NULL, "c"=>"3"'),
(10, '"key0"=>"0", "key919"=>"1", "key838"=>"2", "key757"=>"3", "key676"=>"4", "key595"=>"5", "key514"=>"6", "key433"=>"7", "key352"=>"8", "key271"=>"9", "key190"=>"10", "key109"=>"11", "key28"=>"12", "key947"=>"13", "key866"=>"14", "key785"=>"15", "key704"=>"16", "key623"=>"17", "key542"=>"18", "key461"=>"19", "key380"=>"20", "key299"=>"21", "key218"=>"22", "key137"=>"23", "key56"=>"24", "key975"=>"25", "key894"=>"26", "key813"=>"27", "key732"=>"28", "key651"=>"29", "key570"=>"30", "key489"=>"31", "key408"=>"32", "key327"=>"33", "key246"=>"34", "key165"=>"35", "key84"=>"36", "key3"=>"37", "key922"=>"38", "key841"=>"39"'),
(11, '"éa"=>"1", "日本"=>"2", "😀"=>"3", "Aa"=>"4", "BB"=>"5"');
-- phase: stream
INSERT INTO maps SELECT id + 100, h FROM maps ORDER BY id;
