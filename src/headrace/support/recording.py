"""Statements and a database's answers, masked before they are stored."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from headrace.errors import HeadraceError
from headrace.support.masking import KEPT, Masks
from headrace.support.questions import Question, Shown

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?", re.IGNORECASE)
_STATEMENTS = (Shown.SQL, Shown.OWN_SQL)


class Answer(NamedTuple):
    """An answer of the driver: its description of each column (the name first) and rows. `numbers`
    are the indexes of columns whose texts are numbers."""

    description: Sequence[Sequence[object]]
    rows: Sequence[Sequence[object]]
    numbers: frozenset[int] = frozenset()


class Recording:
    """The records of one bundle, in the order of the statements. `error_of` returns the codes of an
    exception of the driver; None: it has no codes, and its class is recorded."""

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
    ) -> Answer | Exception:
        """Record and return the answer of `send`, or the exception that it raises. Only the types
        of `binds` are shown."""
        began = time.monotonic()
        record: dict[str, Any] = {
            "name": question.name,
            "place": question.place,
            "at_seconds": round(began - self._began, 3),
            "binds": _types(binds),
        }
        answer: Answer | Exception
        try:
            answer = send()
        except Exception as error:  # noqa: BLE001 - a bundle also records errors
            answer = error
            record["error"] = self.error(error)
        record["seconds"] = round(time.monotonic() - began, 4)
        if isinstance(answer, Answer):
            record["columns"] = [self._column(question, column) for column in answer.description]
            record["row_count"] = len(answer.rows)
            record["rows"] = self._rows(question, answer)
        self.records.append(record)
        return answer

    def error(self, error: Exception) -> dict[str, object]:
        """Return the description of an exception: its codes, or its class."""
        if codes := self._error_of(error):
            return dict(codes)
        code = {"code": error.code} if isinstance(error, HeadraceError) else {}
        return {"class": type(error).__name__, **code}

    def note(self, name: str, **facts: object) -> None:
        """Record facts that do not come from a statement of their own; they are shown unmasked."""
        self.records.append({"name": name, "facts": facts})

    def _rows(self, question: Question, answer: Answer) -> list[list[list[object]]]:
        names = [str(column[0]).upper() for column in answer.description]
        rows = [
            [
                self.cell(question, name, cell, is_number=place in answer.numbers)
                for place, (name, cell) in enumerate(zip(names, row, strict=True))
            ]
            for row in answer.rows[: question.rows]
        ]
        if question.goes_on in names:
            goes_on = [row[names.index(question.goes_on)] for row in answer.rows]
            for place, name in enumerate(names):
                if question.columns.get(name) in _STATEMENTS:
                    statements = [row[place] for row in answer.rows]
                    texts = [_text(column) for column in statements]
                    words_of_workload = [question.own_of(name)] * len(texts)
                    masked = self.masks.statements(texts, goes_on, words_of_workload)
                    for row, text in zip(rows, masked, strict=False):
                        if text is not None:
                            row[place][1] = text
        return rows

    def cell(
        self, question: Question, column: str, value: object, *, is_number: bool = False
    ) -> list[object]:
        """The Python type of the driver's value, and the value as shown. `is_number`: the text is a
        number."""
        how = question.columns.get(column.upper(), question.others)
        kind = type(value).__name__
        if value is None:
            return [kind, None]
        if how is Shown.TYPE:
            size = len(value) if isinstance(value, str | bytes) else None
            return [kind, {"size": size}] if size is not None else [kind]
        if isinstance(value, str):
            match how:
                case Shown.VALUE:
                    return [kind, value]
                case Shown.NAME:
                    return [kind, self.masks.name(value.rstrip())]  # padded in CHAR columns
                case Shown.COLUMN_TYPE:
                    return [kind, self.masks.column_type(value)]
                case Shown.SQL:
                    return [kind, self.masks.sql(value)]
                case Shown.OWN_SQL:
                    return [kind, self.masks.own_sql(value, question.own)]
                case None if is_number and _NUMBER.fullmatch(value):
                    return [kind, value]
            return [kind, self.masks.text(value)]
        if isinstance(value, bytes):
            return [kind, value.hex() if how is Shown.VALUE else self.masks.data(value)]
        if isinstance(value, bool | int | float):
            return [kind, value]
        if isinstance(value, Decimal | dt.date | dt.time | dt.timedelta):
            return [kind, str(value)]
        return [kind]

    def _column(self, question: Question, described: Sequence[object]) -> list[object]:
        """Describe a column: the names of a view's columns are shown, those of a user's table
        masked."""
        name, *others = described
        is_known = question.others in (None, Shown.VALUE) or str(name).upper() in question.columns
        shown_name = str(name) if is_known else self.masks.name(str(name))
        return [shown_name, *(_plain(other) for other in others)]


def _text(value: object) -> str | None:
    """A part of a statement, which is bytes if it is cut inside a character."""
    if isinstance(value, bytes):
        return value.decode(errors=KEPT)
    return value if isinstance(value, str) else None


def _plain(value: object) -> object:
    """A plain form of a driver's description of a column: numbers stay, types become their
    names."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(getattr(value, "name", type(value).__name__))


def _types(binds: Mapping[str, object] | Sequence[object]) -> object:
    if isinstance(binds, Mapping):
        return {name: type(value).__name__ for name, value in binds.items()}
    return [type(value).__name__ for value in binds]
