"""A bank on PostgreSQL."""

from __future__ import annotations

import random
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.chaos.databases.database import Row, Transfer
from tests.chaos.databases.postgresql import ChaosPostgres
from tests.chaos.replicas.banks.bank import FIRST_CARDS, TABLES, Bank, Step, picture

_MORE = f"""
ALTER TABLE accounts REPLICA IDENTITY DEFAULT;
ALTER TABLE accounts ADD COLUMN terms text;
ALTER TABLE accounts ALTER COLUMN terms SET STORAGE EXTERNAL;
UPDATE accounts SET terms = repeat(id || ' of the terms ', 250);
CREATE TABLE cards (
  number bigserial PRIMARY KEY, holder text, picture text, credit numeric(10,2), at timestamptz,
  is_valid boolean DEFAULT true, day date);
ALTER TABLE cards ALTER COLUMN picture SET STORAGE EXTERNAL;
INSERT INTO cards (holder, picture, credit, at)
  SELECT 'holder ' || i, repeat(md5(i::text), 100), i / 7.0, now()
  FROM generate_series(1, {FIRST_CARDS}) i;
CREATE TABLE visits (id bigserial PRIMARY KEY, branch text, seconds double precision);
INSERT INTO visits (branch, seconds) SELECT 'first', i / 3.0 FROM generate_series(1, 500) i;
"""
_ONE = "number = (SELECT number FROM cards ORDER BY random() LIMIT 1)"
_STATEMENTS = {
    Step.ISSUE: "INSERT INTO cards (holder, picture, credit, at, day)"
    " VALUES (%(word)s, %(picture)s, %(credit)s, clock_timestamp(), current_date)",
    Step.RENAME: f"UPDATE cards SET holder = %(word)s WHERE {_ONE}",
    Step.MOVE: f"UPDATE cards SET number = nextval('cards_number_seq') WHERE {_ONE}",
    Step.RENAME_AND_MOVE: "UPDATE cards SET holder = %(word)s, "
    f"number = nextval('cards_number_seq') WHERE {_ONE}",
    Step.REDRAW: f"UPDATE cards SET picture = %(picture)s, is_valid = NULL WHERE {_ONE}",
    Step.RETURN: f"DELETE FROM cards WHERE {_ONE}",
    Step.VISIT: "INSERT INTO visits (branch, seconds) VALUES (%(word)s, %(credit)s / 3.0)",
    Step.CLEAR: "TRUNCATE visits",
}


class PostgresBank(ChaosPostgres, Bank):
    """See Bank."""

    namespace = "public"

    def properties(self) -> dict[str, str]:
        tables = ",".join(f"public.{table}" for table in TABLES)
        return super().properties() | {"table.include.list": tables}

    def create(self) -> None:
        super().create()
        self.server.execute(_MORE)

    def commit(self, connection: psycopg.Connection[Any], transfer: Transfer) -> None:
        with connection.transaction():
            super().commit(connection, transfer)
            for step, chance in self.steps(transfer):
                self._take(connection, step, chance)

    def _take(self, connection: psycopg.Connection[Any], step: Step, chance: random.Random) -> None:
        word, credit = chance.choice(("Ana", "Bea", "Zoë", None)), chance.randint(1, 10**8) / 100
        parameters = {"word": word, "credit": credit, "picture": picture(chance)}
        connection.execute(_STATEMENTS[step], parameters)
        if step is Step.CLEAR:
            connection.execute(_STATEMENTS[Step.VISIT], parameters)

    def expected(self, table: str) -> list[Row]:
        with self.server.connect() as connection:
            return connection.cursor(row_factory=dict_row).execute(f"TABLE {table}").fetchall()
