"""A bank of ten accounts, transfers between them, and what their history says of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tests.servers.postgresql import Database

ACCOUNTS = """
CREATE TABLE orders (id int PRIMARY KEY, balance int);
INSERT INTO orders SELECT i, 100 FROM generate_series(1, 10) i;
"""


def transfer(database: Database, chosen: random.Random, count: int) -> None:
    """Make so many transfers, a transaction each."""
    with database.connect() as connection:
        for _ in range(count):
            giver, taker = chosen.sample(range(1, 11), 2)
            amount = chosen.randint(1, 50)
            with connection.transaction():
                for account, more in ((giver, -amount), (taker, amount)):
                    connection.execute(
                        "UPDATE orders SET balance = balance + %s WHERE id = %s", (more, account)
                    )


def require_sums(history: Sequence[dict[str, Any]]) -> None:
    """Require that the balances have their sum at the end of each transaction, by time and by
    position."""
    ends: dict[object, str] = {}
    for row in history:
        ends[row["valid_from"]] = max(ends.get(row["valid_from"], ""), row["valid_from_position"])
    for time, position in ends.items():
        at_time = [
            row
            for row in history
            if row["valid_from"] <= time and (row["valid_to"] is None or time < row["valid_to"])
        ]
        at_position = [
            row
            for row in history
            if row["valid_from_position"] <= position
            and (row["is_current"] or position < row["valid_to_position"])
        ]
        for rows in (at_time, at_position):
            assert (len(rows), sum(row["balance"] for row in rows)) == (10, 1000)
