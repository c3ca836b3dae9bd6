"""date, time and timestamp, with and without time zone, and their modifiers."""

from __future__ import annotations

from collections.abc import Callable

from headrace.connectors.postgresql.types.makers import Maker
from headrace.connectors.postgresql.types.options import PostgresTypeOptions
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.relational.types import temporal
from headrace.relational.types.declaration import Declaration

MOST_DIGITS = 6


def _precision(typmod: int) -> int:
    """Fraction digits of a time or timestamp: 6 when the column declares none."""
    return typmod if 0 <= typmod <= MOST_DIGITS else MOST_DIGITS


def date(_facts: TypeFacts, _typmod: int, options: PostgresTypeOptions) -> Declaration:
    """`date`."""
    return temporal.date(options.time_precision_mode)


def _with_precision(declare: Callable[[str, int], Declaration]) -> Maker:
    def maker(_facts: TypeFacts, typmod: int, options: PostgresTypeOptions) -> Declaration:
        return declare(options.time_precision_mode, _precision(typmod))

    return maker


time = _with_precision(temporal.time)
timestamp = _with_precision(temporal.timestamp)
time_with_zone = _with_precision(temporal.time_with_zone)
timestamp_with_zone = _with_precision(temporal.timestamp_with_zone)
