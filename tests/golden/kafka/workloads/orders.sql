-- phase: setup
CREATE TABLE orders (id int PRIMARY KEY, item varchar(20) NOT NULL, price numeric(8, 2), at timestamptz);
-- transaction
INSERT INTO orders SELECT n, 'item ' || n, n * 1.25, timestamptz '2026-01-01 00:00Z' + n * interval '1 day' FROM generate_series(1, 40) n;
-- phase: stream
INSERT INTO orders VALUES (101, 'Äpfel', 3.50, NULL), (102, '', NULL, '2026-02-03 04:05:06.789Z');
-- transaction
UPDATE orders SET price = price + 1 WHERE id BETWEEN 5 AND 12;
-- transaction
UPDATE orders SET id = 200 WHERE id = 7;
-- transaction
DELETE FROM orders WHERE id IN (1, 2, 3, 102);
-- transaction
INSERT INTO orders VALUES (1, 'again', 0.00, NULL);
