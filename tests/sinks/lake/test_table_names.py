"""Names of tables that a lake accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.delta.locations import table_folder
from headrace.sinks.replicas.lake import NAME_NOT_TAKEN, TableName, require_name
from headrace.sinks.replicas.state.kept import KeptChanges

ACCEPTED = ("orders", "Ä b", "a.b", "..a", "$1", "_a", ".a")


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


@pytest.mark.parametrize("part", ACCEPTED)
def test_other_names_are_accepted(part: str) -> None:
    for name in names(part):
        require_name(name, "a table here")


@pytest.mark.parametrize("part", [part for part in ACCEPTED if part[0] in "_."])
def test_a_name_that_begins_with_an_underscore_or_a_dot_cannot_be_a_delta_table(part: str) -> None:
    for name in names(part):
        with pytest.raises(HeadraceError, match="a folder of /lake that readers of Delta see"):
            table_folder("/lake", name)


@pytest.mark.parametrize("part", [part for part in ACCEPTED if part[0] not in "_."])
def test_another_name_is_a_folder_below_its_namespace(part: str) -> None:
    for name in names(part):
        assert table_folder("/lake/", name) == f"/lake/{name.namespace[0]}/{name.name}"


@pytest.mark.parametrize("name", ["", ".", "..", "orders"])
def test_the_kept_changes_of_a_table_have_a_folder_inside_the_state_folder(
    tmp_path: Path, name: str
) -> None:
    folder = KeptChanges(tmp_path, TableName((), name)).folder
    assert folder.resolve().parent == tmp_path.resolve()
