"""The table and the changes that every contender reads."""

from __future__ import annotations

from headrace.testing.embedded import PostgresServer

DATABASE = "bench"
PER_TRANSACTION = 100

_TABLE = """
CREATE TABLE {name} (
  id bigint PRIMARY KEY, customer int NOT NULL, name varchar(64), price numeric(12,2),
  at timestamptz, local timestamp, note text, flag boolean, ref uuid, doc jsonb)
"""
_ROWS = """
INSERT INTO {name}
SELECT i, i * 7 % 1000, 'name ' || i || ' "q" é漢', (i % 10000) + (i % 100) / 100.0,
       timestamptz '2026-01-02 03:04:05.123456+00' + i * interval '1 second',
       timestamp '2026-01-02 03:04:05.12' + i * interval '1 second',
       'a longer note text without anything special in it, ' || i || ' times', i % 2 = 0,
       md5(i::text)::uuid, jsonb_build_object('a', i, 'b', jsonb_build_array(1, 2, 3))
FROM generate_series({first}, {last}) i
"""
_LOOP = """
CREATE OR REPLACE PROCEDURE many(rows int, per int, first bigint, statement text)
LANGUAGE plpgsql AS $$
DECLARE at bigint := first;
BEGIN
  WHILE at < first + rows LOOP
    EXECUTE statement USING at, least(at + per, first + rows) - 1;
    COMMIT;
    at := at + per;
  END LOOP;
END $$
"""


def make_table(server: PostgresServer, name: str, rows: int) -> None:
    """A table of ten columns, about 260 bytes a row, with `rows` rows."""
    server.execute(_TABLE.format(name=name), database=DATABASE)
    if rows:
        server.execute(_ROWS.format(name=name, first=1, last=rows), database=DATABASE)
    server.execute(f"ANALYZE {name}", database=DATABASE)


def make_backlog(server: PostgresServer, name: str, inserts: int) -> int:
    """`inserts` inserts, as many updates, half as many deletes, in transactions of 100 rows;
    returns the number of row changes."""
    server.execute(_LOOP, database=DATABASE)
    insert = _ROWS.format(name=name, first="$1", last="$2")
    update = (
        f"UPDATE {name} SET price = price + 1, note = 'changed ' || note, flag = NOT flag"
        " WHERE id BETWEEN $1 AND $2"
    )
    delete = f"DELETE FROM {name} WHERE id BETWEEN $1 AND $2"
    for statement, rows in ((insert, inserts), (update, inserts), (delete, inserts // 2)):
        server.execute(
            f"CALL many({rows}, {PER_TRANSACTION}, 1, $statement${statement}$statement$)",
            database=DATABASE,
        )
    return inserts * 2 + inserts // 2


def make_one_transaction(server: PostgresServer, name: str, rows: int) -> None:
    """`rows` inserts in one transaction."""
    server.execute(_ROWS.format(name=name, first=1, last=rows), database=DATABASE)
