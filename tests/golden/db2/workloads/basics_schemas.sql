-- property: key.converter.schemas.enable=true
-- property: value.converter.schemas.enable=true
-- property: converter.schemas.enable=true
-- property: header.converter.schemas.enable=true
-- phase: setup
CREATE SCHEMA INVENTORY;
CREATE TABLE INVENTORY.CUSTOMERS (ID INTEGER NOT NULL PRIMARY KEY, FIRST_NAME VARCHAR(255) NOT NULL, LAST_NAME VARCHAR(255) NOT NULL, EMAIL VARCHAR(255));
CALL ASNCDC.ADDTABLE('INVENTORY', 'CUSTOMERS');
-- transaction
INSERT INTO INVENTORY.CUSTOMERS VALUES (1001, 'Sally', 'Thomas', 'sally.thomas@acme.com'), (1002, 'George', 'Bailey', NULL);
-- phase: stream
INSERT INTO INVENTORY.CUSTOMERS VALUES (1005, 'john', 'doe', 'john.doe@example.org');
-- transaction
UPDATE INVENTORY.CUSTOMERS SET EMAIL = 'noreply@ibm.com' WHERE ID = 1005;
-- transaction
UPDATE INVENTORY.CUSTOMERS SET ID = 1006 WHERE ID = 1005;
-- transaction
DELETE FROM INVENTORY.CUSTOMERS WHERE ID = 1006;
