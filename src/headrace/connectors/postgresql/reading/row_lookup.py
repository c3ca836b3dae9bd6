"""Reads cells of streamed rows again: their images get the values that the table has now.

Runs in the task, before anything is rendered, so masks apply to what was read too.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import ctypes
import logging
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import psycopg
from psycopg import sql

from headrace.connect.images import ABSENT, cells, has_any, make_image
from headrace.connect.kernels.memory import (
    PADDING,
    address_of,
    kernel,
    load8,
    load64,
    store8,
)
from headrace.connect.rows import Flag, RowTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, find_operators_in
from headrace.connectors.postgresql.events import types_of
from headrace.connectors.postgresql.types.type_facts import operator_schemas
from headrace.errors import HeadraceError
from headrace.relational.events import RelationFacts
from headrace.relational.reselection import Lookup
from headrace.streaming.facts import Facts

log = logging.getLogger(__name__)

ROWS_PER_QUERY = 1000
_NEW_ROW = (ord("c"), ord("u"))


@kernel
def _wanting(images, count, has_old, wanted, unavailable, null, found):
    """Mark the rows (uint8) whose image (int64, its address) wants something; `has_old` is uint8
    per row."""
    for i in range(count):
        lacks = unavailable and not load8(has_old + i)
        store8(found + i, 1 if has_any(load64(images + 8 * i), wanted, lacks, null) else 0)


Cell = bytes | None
"""Text, or null; an unavailable one is ABSENT."""


def read_again(table: RowTable, relations: Mapping[int, Facts], config: PostgresConfig) -> RowTable:
    """The same rows, with what their tables' look-ups ask for."""
    operations = table.rows["operation"]
    changed = np.isin(operations, _NEW_ROW) & (table.rows["new"] != 0)
    connection: psycopg.Connection | None = None
    rows, memory = table.rows, list(table.memory)
    try:
        for index in np.unique(rows["relation"][changed]).tolist():
            facts = relations[index]
            if not isinstance(facts, RelationFacts) or facts.lookup is None:
                continue
            places = _places(rows, np.flatnonzero(changed & (rows["relation"] == index)), facts)
            for start in range(0, len(places), ROWS_PER_QUERY):
                some = places[start : start + ROWS_PER_QUERY]
                try:
                    if connection is None:
                        connection = _connected(config, facts.lookup)
                    find_operators_in(connection, operator_schemas(types_of(facts)))
                    found = _rows_now(connection, facts, rows, some)
                except (psycopg.Error, HeadraceError) as error:
                    _failed(facts, str(error).strip().split("\n", 1)[0])
                    continue
                if rows is table.rows:
                    rows = rows.copy()
                memory.append(_replace(rows, some, facts, found))
    finally:
        if connection is not None:
            connection.close()
    return replace(table, rows=rows, memory=tuple(memory))


def _connected(config: PostgresConfig, lookup: Lookup) -> psycopg.Connection:
    connection = connect(config, application="headrace look-up")
    if not lookup.strict:
        connection.execute("SET statement_timeout = '60s'")
    return connection


def _failed(facts: RelationFacts, why: str) -> None:
    assert facts.lookup is not None
    message = f"columns of {facts.name} could not be read again: {why}"
    if facts.lookup.strict:
        raise HeadraceError(
            "postgresql.reselect_failed",
            message,
            "Set reselect.error.handling.mode=warn to go on with what the log holds.",
            retriable=True,
        )
    log.warning("%s", message)


def _places(rows: np.ndarray, places: np.ndarray, facts: RelationFacts) -> np.ndarray:
    """The rows among `places` that want something."""
    lookup = facts.lookup
    assert lookup is not None
    wanted = np.zeros(len(facts.columns) + PADDING, np.uint8)
    wanted[list(lookup.columns)] = 1
    found = np.zeros(len(places), np.uint8)
    has_old = (rows["flags"][places] & int(Flag.FULL_OLD)) != 0
    images = np.ascontiguousarray(rows["new"][places])
    _wanting(
        address_of(images),
        len(places),
        address_of(has_old),
        address_of(wanted),
        int(lookup.unavailable),
        int(lookup.null),
        address_of(found),
    )
    return np.asarray(places[found != 0])


def _cells(row: np.void) -> list[Cell]:
    """The cells of the row's new image."""
    image = (ctypes.c_char * int(row["size"])).from_address(int(row["new"]))
    return cells(memoryview(image).cast("B"), unavailable=ABSENT)


def _rows_now(
    connection: psycopg.Connection, facts: RelationFacts, rows: np.ndarray, places: np.ndarray
) -> dict[int, list[Cell]]:
    """The look-up's columns of the rows at `places`, by number in `places`."""
    lookup = facts.lookup
    assert lookup is not None
    keys: list[list[str]] = [[] for _ in lookup.key]
    numbers: list[int] = []
    for number, place in enumerate(places.tolist()):
        image = _cells(rows[place])
        key = [image[column] for column in lookup.key]
        if any(cell is None or cell is ABSENT for cell in key):
            continue
        numbers.append(number)
        for values, cell in zip(keys, key, strict=True):
            assert cell is not None
            values.append(cell.decode())
    # Parameters are numbered on the server: a name may hold a per cent sign.
    query = sql.SQL("SELECT k.n, {columns} FROM unnest({arrays}) k({names}) JOIN {table} t ON {on}")
    conditions = []
    for at, column in enumerate(lookup.key):
        kind = types_of(facts)[column]
        conditions.append(
            sql.SQL("t.{} = k.{}::{}").format(
                sql.Identifier(facts.columns[column].name),
                sql.Identifier(f"k{at}"),
                sql.Identifier(kind.schema, kind.name),
            )
        )
    names = [sql.Identifier("n"), *(sql.Identifier(f"k{at}") for at in range(len(keys)))]
    arrays = ["$1::int4[]", *(f"${2 + at}::text[]" for at in range(len(keys)))]
    cursor = psycopg.RawCursor(connection).execute(
        query.format(
            columns=sql.SQL(", ").join(
                sql.SQL("t.{}").format(sql.Identifier(facts.columns[c].name))
                for c in lookup.columns
            ),
            arrays=sql.SQL(", ".join(arrays)),
            names=sql.SQL(", ").join(names),
            table=sql.Identifier(facts.schema, facts.table),
            on=sql.SQL(" AND ").join(conditions),
        ),
        (numbers, *keys),
    )
    result = cursor.pgresult
    assert result is not None
    found: dict[int, list[Cell]] = {}
    for row in range(result.ntuples):
        number = int(result.get_value(row, 0) or b"0")
        found[number] = [result.get_value(row, 1 + i) for i in range(len(lookup.columns))]
    if len(found) < len(places):
        _failed(facts, f"{len(places) - len(found)} rows are gone")
    return found


def _replace(
    rows: np.ndarray, places: np.ndarray, facts: RelationFacts, found: Mapping[int, list[Cell]]
) -> np.ndarray:
    """Give the rows images with the cells found; returns the memory that holds them."""
    lookup = facts.lookup
    assert lookup is not None
    images, starts = bytearray(), []
    for number, values in found.items():
        row = rows[int(places[number])]
        image = _cells(row)
        has_old = bool(row["flags"] & int(Flag.FULL_OLD))
        for column, value in zip(lookup.columns, values, strict=True):
            cell = image[column]
            if (cell is None and lookup.null) or (
                cell is ABSENT and lookup.unavailable and not has_old
            ):
                image[column] = value
        starts.append((int(places[number]), len(images)))
        images += make_image(image)
    buffer = np.frombuffer(bytes(images) + bytes(PADDING), np.uint8)
    base = address_of(buffer)
    end = len(images)
    for place, start in reversed(starts):
        rows["new"][place] = base + start
        rows["size"][place] += end - start
        end = start
    return buffer
