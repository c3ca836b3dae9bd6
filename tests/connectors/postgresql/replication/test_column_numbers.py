"""The numbers of the columns of a relation message, from a catalogue that may be newer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.postgresql.catalog.catalog import (
    CatalogColumn,
    CatalogReading,
    CatalogTable,
    TableHistory,
)
from headrace.connectors.postgresql.replication.column_numbers import column_numbers
from headrace.connectors.postgresql.replication.pgoutput_messages import (
    RelationColumn,
    RelationMessage,
)
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.connectors.postgresql.types.type_facts import TypeFacts

INT = PostgresType(TypeFacts(23, "int4"), -1)
FIRST_XID = 100

# What a transaction does to the column at a place (modulo their number), and the name it gives.
CHANGE = st.tuples(
    st.sampled_from(("add", "drop", "rename", "alter")), st.integers(0, 9), st.sampled_from("abcd")
)
TRANSACTIONS = st.lists(st.lists(CHANGE, max_size=4), min_size=1, max_size=5)


@dataclass
class AlteredTable:
    """A table as pg_attribute has it: numbers are never given again, and each change of a column
    leaves its transaction in the column's entry."""

    columns: dict[int, str] = field(default_factory=lambda: {1: "a", 2: "b", 3: "c"})
    changed_by: dict[int, int] = field(default_factory=lambda: dict.fromkeys((1, 2, 3), 50))
    dropped: dict[int, int] = field(default_factory=dict)
    last_number: int = 3

    def apply(self, change: tuple[str, int, str], xid: int) -> None:
        kind, place, name = change
        numbers = sorted(self.columns)
        number = numbers[place % len(numbers)] if numbers else 0
        is_free = name not in self.columns.values()
        if kind == "add" and is_free:
            self.last_number += 1
            self.columns[self.last_number], self.changed_by[self.last_number] = name, xid
        elif kind == "drop" and number:
            del self.columns[number]
            self.dropped[number] = xid
        elif number and (kind == "alter" or (kind == "rename" and is_free)):
            if kind == "rename":
                self.columns[number] = name
            self.changed_by[number] = xid

    def message(self) -> tuple[RelationMessage, list[int]]:
        """The relation message of a change at this moment, and the numbers of its columns."""
        numbers = sorted(self.columns)
        columns = tuple(RelationColumn(self.columns[n], 23, -1, False) for n in numbers)
        return RelationMessage(7, "public", "t", "d", columns), numbers

    def described(self) -> CatalogTable:
        columns = tuple(
            CatalogColumn(self.columns[n], INT, False, number=n, changed_by=self.changed_by[n])
            for n in sorted(self.columns)
        )
        history = TableHistory(created_by=50, dropped=dict(self.dropped))
        return CatalogTable("public", "t", columns, id=7, history=history)


def catalog_after(transactions: int) -> CatalogReading:
    end = FIRST_XID + transactions
    return CatalogReading({}, {}, f"{end}:{end}:")


@given(TRANSACTIONS)
def test_a_number_that_a_newer_catalogue_gives_is_that_of_the_column_of_the_message(
    transactions: Sequence[Sequence[tuple[str, int, str]]],
) -> None:
    """A message may be between any two changes of any transaction."""
    table = AlteredTable()
    messages = []
    for xid, changes in enumerate(transactions, FIRST_XID):
        messages.append((xid, *table.message()))
        for change in changes:
            table.apply(change, xid)
            messages.append((xid, *table.message()))
    present, catalog = table.described(), catalog_after(len(transactions))
    for xid, message, numbers in messages:
        given_numbers = column_numbers(message, present, catalog, xid)
        assert len(given_numbers) == len(numbers)
        for number, right in zip(given_numbers, numbers, strict=True):
            assert number in {None, right}, (xid, message.columns, given_numbers, numbers)


@given(TRANSACTIONS)
def test_a_catalogue_that_is_not_newer_gives_the_number_of_every_column(
    transactions: Sequence[Sequence[tuple[str, int, str]]],
) -> None:
    table = AlteredTable()
    for xid, changes in enumerate(transactions, FIRST_XID):
        for change in changes:
            table.apply(change, xid)
    message, numbers = table.message()
    xid = FIRST_XID + len(transactions)
    catalog = catalog_after(len(transactions) + 1)
    assert column_numbers(message, table.described(), catalog, xid) == numbers
