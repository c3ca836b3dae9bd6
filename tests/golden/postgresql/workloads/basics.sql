-- phase: setup
CREATE TABLE customers (id serial PRIMARY KEY, name varchar(50) NOT NULL, email text, active boolean DEFAULT true);
-- transaction
INSERT INTO customers (name, email) VALUES ('Anne', 'anne@example.org'), ('Bob', NULL);
-- phase: stream
INSERT INTO customers (name, email) VALUES ('Carl', 'carl@example.org');
-- transaction
UPDATE customers SET name = 'Anna' WHERE id = 1;
-- transaction
UPDATE customers SET id = 10 WHERE id = 2;
-- transaction
DELETE FROM customers WHERE id = 3;
-- transaction
INSERT INTO customers (name) VALUES ('Dora'); UPDATE customers SET email = 'dora@example.org' WHERE name = 'Dora'; DELETE FROM customers WHERE name = 'Dora';
-- transaction
TRUNCATE customers;
