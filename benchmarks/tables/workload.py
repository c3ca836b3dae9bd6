"""The table and the changes that every contender reads: ten columns, about 150 bytes a row."""

from __future__ import annotations

from decimal import Decimal

from headrace.testing.embedded import PostgresServer

DATABASE = "bench"
PER_TRANSACTION = 100
# The i-th key: the multiplication permutes the numbers below the prime.
_KEY = "(({i})::bigint * 2654435761 % 4294967291)"
_TABLE = """
CREATE TABLE {name} (
  id bigint PRIMARY KEY, customer int NOT NULL, name text, note varchar(64), price numeric(12,2),
  at timestamptz, day date, weight float8, flag boolean, ref text)
"""
_ROWS = f"""
INSERT INTO {{name}}
SELECT {_KEY.format(i="i")}, i * 7 % 1000, 'name ' || i,
       'a longer note text without anything special, ' || i, (i % 10000) + (i % 100) / 100.0,
       timestamptz '2026-01-02 03:04:05.123456+00' + i * interval '1 second',
       date '2026-01-01' + (i % 365)::int, i * 0.5, i % 2 = 0, md5(i::text)
FROM generate_series({{first}}, {{last}}) i
"""
# Of each number a transaction: inserts, then updates, then deletes.
_CHANGES = """
CREATE OR REPLACE PROCEDURE change(transactions bigint, first bigint) LANGUAGE plpgsql AS $$
BEGIN
  FOR n IN 0 .. transactions - 1 LOOP
    {insert};
    UPDATE {name} SET price = price + 1, note = 'changed ' || customer, flag = NOT flag
      WHERE id IN (SELECT id FROM chosen WHERE number = n AND NOT is_delete);
    DELETE FROM {name} WHERE id IN (SELECT id FROM chosen WHERE number = n AND is_delete);
    COMMIT;
  END LOOP;
END $$
"""
_CHOSEN = """
DROP TABLE IF EXISTS chosen;
CREATE UNLOGGED TABLE chosen AS
  SELECT id, (place - 1) / 60 AS number, (place - 1) % 60 >= 40 AS is_delete
  FROM (SELECT id, row_number() OVER (ORDER BY md5(id::text || '{seed}')) AS place FROM {name}) r
  WHERE place <= {transactions} * 60;
CREATE INDEX ON chosen (number);
ANALYZE chosen
"""
Sums = tuple[int, int, int, Decimal, int, int]
SUMS = "count(*), sum(id), sum(customer), sum(price), sum(length(note)), sum(length(ref))"
"""What a table is compared by with its source."""


def make_table(server: PostgresServer, name: str, rows: int) -> None:
    """A table with `rows` rows."""
    server.execute(_TABLE.format(name=name), database=DATABASE)
    server.execute(_ROWS.format(name=name, first=1, last=rows), database=DATABASE)
    server.execute(f"ANALYZE {name}", database=DATABASE)


def change(server: PostgresServer, name: str, changes: int, *, keys_made: int) -> int:
    """40 % inserts of new keys, 40 % updates and 20 % deletes of random rows, in transactions of
    100. `keys_made` is how many keys were ever made; gives how many are then."""
    transactions = changes // PER_TRANSACTION
    for statement in _CHOSEN.format(name=name, transactions=transactions, seed=keys_made).split(
        ";"
    ):
        server.execute(statement, database=DATABASE)
    insert = _ROWS.format(name=name, first="first + n * 40", last="first + n * 40 + 39")
    server.execute(_CHANGES.format(name=name, insert=insert), database=DATABASE)
    server.execute(f"CALL change({transactions}, {keys_made + 1})", database=DATABASE)
    return keys_made + transactions * 40


def sums(server: PostgresServer, name: str) -> Sums:
    """SUMS of the source."""
    (row,) = server.execute(f"SELECT {SUMS} FROM {name}", database=DATABASE)
    return comparable(row)


def comparable(row: tuple[object, ...]) -> Sums:
    """A row of SUMS, whatever the types of numbers that the reader gives."""
    count, ids, customers, price, notes, refs = (Decimal(str(value)) for value in row)
    return int(count), int(ids), int(customers), price, int(notes), int(refs)
