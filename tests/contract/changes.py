"""Changes that any database can make, and the records that they must make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hypothesis import strategies as st


@dataclass(frozen=True)
class Insert:
    """A new row."""

    key: int
    text: str


@dataclass(frozen=True)
class Update:
    """Another text in a row."""

    key: int
    text: str


@dataclass(frozen=True)
class Delete:
    """The row goes."""

    key: int


@dataclass(frozen=True)
class Move:
    """A row gets the key `to` and keeps its text."""

    key: int
    to: int


@dataclass(frozen=True)
class Fill:
    """New rows `first` to `last`, each with a text of `size` characters, in one statement."""

    first: int
    last: int
    size: int

    @property
    def text(self) -> str:
        return "x" * self.size


Change = Insert | Update | Delete | Move | Fill


class Event(NamedTuple):
    """The content of a row's record: Debezium's operation (None: a tombstone), its key and, when it
    has one, its text."""

    op: str | None
    key: int
    text: str | None


@dataclass(frozen=True)
class Transaction:
    """Changes that are committed together, or rolled back."""

    changes: tuple[Change, ...]
    rolled_back: bool = False


def apply(rows: dict[int, str], changes: Iterable[Change]) -> list[Event]:
    """Makes the changes to `rows`; returns their records."""
    events = []
    for change in changes:
        match change:
            case Insert(key, text):
                rows[key] = text
                events.append(Event("c", key, text))
            case Update(key, text):
                rows[key] = text
                events.append(Event("u", key, text))
            case Delete(key):
                del rows[key]
                events += [Event("d", key, None), Event(None, key, None)]
            case Move(key, to):
                rows[to] = text = rows.pop(key)
                events += [Event("d", key, None), Event(None, key, None), Event("c", to, text)]
            case Fill(first, last, _):
                for key in range(first, last + 1):
                    rows[key] = change.text
                    events.append(Event("c", key, change.text))
    return events


def in_pairs(events: Sequence[Event]) -> list[Event]:
    """The records of a transaction as a log has them that writes an update as a delete and an
    insert: an insert of the row that was deleted right before it is an update."""
    pairs: list[Event] = []
    for event in events:
        before = [Event("d", event.key, None), Event(None, event.key, None)]
        if event.op == "c" and pairs[-2:] == before:
            pairs[-2:] = [event._replace(op="u")]
        else:
            pairs.append(event)
    return pairs


def fold(events: Iterable[Event]) -> dict[int, str | None]:
    """The rows that remain when the records are applied in their order."""
    rows: dict[int, str | None] = {}
    for event in events:
        if event.op in ("d", None):
            rows.pop(event.key, None)
        else:
            rows[event.key] = event.text
    return rows


@st.composite
def workloads(draw: st.DrawFn, *, moves: bool, rollbacks: bool) -> list[Transaction]:
    """Draws up to six transactions of up to five changes on an empty collection."""
    rows: dict[int, str] = {}
    workload = []
    for _ in range(draw(st.integers(1, 6))):
        within = dict(rows)
        changes: list[Change] = []
        for _ in range(draw(st.integers(1, 5))):
            change = draw(_change(within, moves))
            apply(within, [change])
            changes.append(change)
        rolled_back = rollbacks and draw(st.integers(0, 4)) == 4
        workload.append(Transaction(tuple(changes), rolled_back))
        if not rolled_back:
            rows = within
    return workload


_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


def _change(rows: dict[int, str], moves: bool) -> st.SearchStrategy[Change]:
    free = st.integers(1, 12).filter(lambda key: key not in rows)
    choices: list[st.SearchStrategy[Change]] = []
    if len(rows) < 12:
        choices.append(st.builds(Insert, free, _TEXTS))
    if rows:
        present = st.sampled_from(sorted(rows))
        choices += [st.builds(Update, present, _TEXTS), st.builds(Delete, present)]
    if moves and 0 < len(rows) < 12:
        choices.append(st.builds(Move, st.sampled_from(sorted(rows)), free))
    return st.one_of(choices)


EVERYTHING = (
    Transaction(tuple(Insert(key, f"row {key}") for key in range(1, 6))),
    Transaction((Update(1, "changed"), Update(2, "changed"), Delete(3))),
    Transaction((Insert(6, "not"), Delete(1)), rolled_back=True),
    Transaction((Insert(3, "again"), Update(3, "and again"), Delete(3), Insert(3, "at last"))),
    Transaction((Fill(10, 17, 10),)),
    Transaction((Insert(40, "long " * 300), Insert(41, ""))),
)
"""A workload with everything that every database has."""

MOVES = (Transaction((Move(4, 30), Update(30, "moved"))), Transaction((Move(5, 31),)))
"""Further transactions if a row's key can change."""
