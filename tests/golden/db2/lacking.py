"""Types that Derby lacks: the catalog shows them as the workload declares them, and their values
are read as they are stored (see tests/golden/db2/derby.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace

import pytest

from headrace.connectors.db2 import sql
from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.types.source_type import Db2Type
from headrace.relational.table import Column
from tests.golden.workload import Workload

_DECLARED = re.compile(r"(\w+) (\w+)\((\d+)\)(?: COMMENT '([\w ]+)')?[,)]")
_FINE = "TIMESTAMP"
_WHOLE_SECONDS = 19  # letters of a timestamp without a fraction


def declared_types(blocks: str) -> dict[str, Db2Type]:
    """The types of those columns that have the name of a type for comment, or DECFLOAT or TIMESTAMP
    with a size for type."""
    declared = {}
    for column, kind, size, comment in _DECLARED.findall(blocks):
        if kind == _FINE:
            length = _WHOLE_SECONDS + (1 + int(size) if int(size) else 0)
            declared[column] = Db2Type(kind, length, int(size))
        elif comment or kind == "DECFLOAT":
            declared[column] = Db2Type(comment or kind, int(size))
    return declared


@contextmanager
def declared(blocks: str) -> Iterator[None]:
    """Makes the catalog show columns as the blocks of a workload declare them, within the
    context."""
    types = declared_types(blocks)
    described = Catalog.columns

    def columns(catalog: Catalog, schema: str, name: str) -> tuple[Column, ...]:
        return tuple(
            replace(column, type=types.get(column.name, column.type))
            for column in described(catalog, schema, name)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalog, "columns", columns)
        patch.setattr(sql, "readable", lambda column: sql.quoted(column.name))
        yield


def declared_in(workload: Workload) -> AbstractContextManager[None]:
    """The context of `declared` for a workload of types that Derby lacks; an empty one for
    others."""
    if not workload.name.startswith("lacking_"):
        return nullcontext()
    return declared("\n".join(workload.phases["setup"]))
