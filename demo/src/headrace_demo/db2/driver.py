"""IBM's driver in an environment with lock waits, and on a client with a decimal comma: functions
that replace those of `ibm_db` in this process."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from typing import Any

import ibm_db

from headrace_demo.db2.peculiarities import Peculiarities

LOCK_WAIT = (
    "[IBM][CLI Driver][DB2/LINUXX8664] SQL0911N  The current transaction has been rolled back "
    'because of a deadlock or timeout.  Reason code "{}".  SQLSTATE=40001 SQLCODE=-911'
)
_DEADLOCK, _TIMEOUT = 2, 68


def install(peculiarities: Peculiarities) -> None:
    """Replace the functions of `ibm_db` in this process; each process has its own random
    numbers."""
    chance = random.Random(f"{peculiarities.seed} {os.getpid()}")  # noqa: S311 - draws of a seed
    handles: dict[int, Any] = {}
    prepare, execute = ibm_db.prepare, ibm_db.execute

    def prepared(handle: Any, *more: Any) -> Any:
        statement = prepare(handle, *more)
        handles[id(statement)] = handle
        return statement

    def waiting(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(statement: Any, *more: Any) -> Any:
            if chance.random() < peculiarities.lock_waits:
                ibm_db.rollback(handles[id(statement)])
                raise Exception(LOCK_WAIT.format(chance.choice((_DEADLOCK, _TIMEOUT))))
            return function(statement, *more)

        return called

    def with_commas(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(statement: Any, *more: Any) -> Any:
            rows = function(statement, *more)
            count = ibm_db.num_fields(statement)
            places = [at for at in range(count) if ibm_db.field_type(statement, at) == "decimal"]
            return _written(rows, places) if places else rows

        return called

    fetching = {"fetchmany": ibm_db.fetchmany, "fetchall": ibm_db.fetchall}
    if peculiarities.has_commas:
        fetching = {name: with_commas(function) for name, function in fetching.items()}
    if peculiarities.lock_waits:
        ibm_db.prepare, ibm_db.execute = prepared, waiting(execute)
        fetching = {name: waiting(function) for name, function in fetching.items()}
    for name, function in fetching.items():
        setattr(ibm_db, name, function)


def _written(rows: Iterable[tuple[Any, ...]], places: list[int]) -> list[tuple[Any, ...]]:
    """The rows with commas in their decimals."""
    return [
        tuple(
            cell.replace(".", ",") if place in places and isinstance(cell, str) else cell
            for place, cell in enumerate(row)
        )
        for row in rows
    ]
