"""Names that a lake takes for tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.delta.locations import table_folder
from headrace.sinks.replicas.lake import NAME_NOT_TAKEN, TableName, require_name
from headrace.sinks.replicas.state.kept import KeptChanges

TAKEN = ("orders", "Ä b", "a.b", "..a", "$1", "_a", ".a")


def names(part: str) -> list[TableName]:
    """Names with a part as the table's name and as its namespace."""
    return [TableName(("shop",), part), TableName((part,), "orders")]


@pytest.mark.parametrize("part", ["", ".", "..", "...", "a/b", "a\\b", "a\0", "a\n", "\t"])
def test_a_name_that_no_folder_can_have_is_refused(part: str) -> None:
    for name in names(part):
        with pytest.raises(HeadraceError, match="cannot be a table here") as caught:
            require_name(name, "a table here")
        assert caught.value.code == NAME_NOT_TAKEN
        assert repr(part) in caught.value.message


@pytest.mark.parametrize("part", TAKEN)
def test_other_names_are_taken(part: str) -> None:
    for name in names(part):
        require_name(name, "a table here")


@pytest.mark.parametrize("part", TAKEN)
def test_a_folder_that_readers_of_delta_do_not_see_is_no_table(part: str) -> None:
    for name in names(part):
        if part[0] in "_.":
            with pytest.raises(HeadraceError, match="a folder of /lake that readers of Delta see"):
                table_folder("/lake", name)
        else:
            assert table_folder("/lake/", name) == f"/lake/{name.namespace[0]}/{name.name}"


@pytest.mark.parametrize("name", ["", ".", "..", "orders"])
def test_what_is_kept_of_a_table_is_in_a_folder_of_its_own(tmp_path: Path, name: str) -> None:
    folder = KeptChanges(tmp_path, TableName((), name)).folder
    assert folder.resolve().parent == tmp_path.resolve()
