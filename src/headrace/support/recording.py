"""Statements and what a database answered, masked before anything keeps it."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from headrace.support.masking import Masks
from headrace.support.questions import Question, Shown


class Answer(NamedTuple):
    """What the driver gave: its description of each column (name, then what it has) and rows."""

    description: Sequence[Sequence[object]]
    rows: Sequence[Sequence[object]]


class Recording:
    """The records of one bundle, in the order of the statements. `error_of` gives the codes of an
    exception of the driver; None: the exception is another one, and ends the bundle."""

    def __init__(
        self, masks: Masks, error_of: Callable[[Exception], Mapping[str, object] | None]
    ) -> None:
        self.masks, self._error_of = masks, error_of
        self.records: list[dict[str, Any]] = []
        self._began = time.monotonic()

    def ask(
        self,
        question: Question,
        send: Callable[[], Answer],
        binds: Mapping[str, object] | Sequence[object] = (),
    ) -> Answer | None:
        """What `send` gives, which is recorded; None after an error of the database, which is, too.
        `binds` are shown by their types."""
        began = time.monotonic()
        record: dict[str, Any] = {
            "name": question.name,
            "place": question.place,
            "at_seconds": round(began - self._began, 3),
            "binds": _types(binds),
        }
        answer: Answer | None = None
        try:
            answer = send()
        except Exception as error:
            codes = self._error_of(error)
            if codes is None:
                raise
            record["error"] = dict(codes)
        record["seconds"] = round(time.monotonic() - began, 4)
        if answer is not None:
            record["columns"] = [self._column(question, one) for one in answer.description]
            names = [str(one[0]) for one in answer.description]
            record["row_count"] = len(answer.rows)
            record["rows"] = [
                [self.cell(question, name, cell) for name, cell in zip(names, row, strict=True)]
                for row in answer.rows[: question.rows]
            ]
        self.records.append(record)
        return answer

    def run(
        self,
        question: Question,
        send: Callable[[], object],
        binds: Mapping[str, object] | Sequence[object] = (),
    ) -> bool:
        """As `ask`, of a statement without rows; False after an error of the database."""

        def sent() -> Answer:
            send()
            return Answer((), ())

        return self.ask(question, sent, binds) is not None

    def note(self, name: str, **facts: object) -> None:
        """Something that was found out, and has no statement of its own; facts are shown as they
        are."""
        self.records.append({"name": name, "facts": facts})

    def cell(self, question: Question, column: str, value: object) -> list[object]:
        """The type that the driver made, and what is shown of the value."""
        shown = question.columns.get(column.upper(), question.others)
        kind = type(value).__name__
        if value is None:
            return [kind, None]
        if shown is Shown.TYPE:
            size = len(value) if isinstance(value, str | bytes) else None
            return [kind, {"size": size}] if size is not None else [kind]
        if isinstance(value, str):
            match shown:
                case Shown.VALUE:
                    return [kind, value]
                case Shown.NAME:
                    return [kind, self.masks.name(value)]
                case Shown.SQL:
                    return [kind, self.masks.sql(value)]
                case Shown.OWN_SQL:
                    return [kind, self.masks.own_sql(value, question.own)]
            return [kind, self.masks.text(value)]
        if isinstance(value, bytes):
            return [kind, value.hex() if shown is Shown.VALUE else self.masks.data(value)]
        if isinstance(value, bool | int | float):
            return [kind, value]
        if isinstance(value, Decimal | dt.date | dt.time | dt.timedelta):
            return [kind, str(value)]
        return [kind]

    def _column(self, question: Question, described: Sequence[object]) -> list[object]:
        """A name of a view's column is shown, one of a user's table is not."""
        name, *others = described
        is_known = question.others is None or str(name).upper() in question.columns
        shown = str(name) if is_known else self.masks.name(str(name))
        return [shown, *(_plain(one) for one in others)]


def _plain(value: object) -> object:
    """Of what a driver describes a column by: numbers, and types by their names."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(getattr(value, "name", type(value).__name__))


def _types(binds: Mapping[str, object] | Sequence[object]) -> object:
    if isinstance(binds, Mapping):
        return {name: type(value).__name__ for name, value in binds.items()}
    return [type(value).__name__ for value in binds]
