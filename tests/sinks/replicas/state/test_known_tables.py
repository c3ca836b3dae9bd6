"""Tables of the source that have replicas."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import TableName, TableSchema
from headrace.sinks.replicas.state.renaming import RENAMED, KnownTables

OLD, NEW = TableName(("public",), "old"), TableName(("public",), "new")


def source(number: str) -> TableSchema:
    return TableSchema((), (), source="public.t", source_id=number)


def test_a_table_that_was_renamed_is_refused_also_after_a_restart(tmp_path: Path) -> None:
    KnownTables(tmp_path).require_new(OLD, source("7"))
    for _ in range(2):
        with pytest.raises(HeadraceError, match=r"headrace resync FILE public\.new") as error:
            KnownTables(tmp_path).require_new(NEW, source("7"))
        assert error.value.code == RENAMED


def test_a_table_that_was_copied_under_its_new_name_continues(tmp_path: Path) -> None:
    known = KnownTables(tmp_path)
    known.require_new(OLD, source("7"))
    known.add(NEW, source("7"))
    known.require_new(NEW, source("7"))


def test_other_tables_and_tables_without_ids_are_new(tmp_path: Path) -> None:
    known = KnownTables(tmp_path)
    known.require_new(OLD, source("7"))
    known.require_new(NEW, source("8"))
    known.require_new(OLD, source(""))
    known.require_new(NEW, source(""))
