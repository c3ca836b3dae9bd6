"""The walk that holds sources against a driver's classes finds what they use, wherever it goes."""

from __future__ import annotations

import sqlite3
import textwrap
from pathlib import Path

import pytest

from tests.contract.driver_calls import Call, Driver, Member, faults, uses

CLASSES = {
    "sqlite3": sqlite3,
    "Connection": sqlite3.Connection,
    "Cursor": sqlite3.Cursor,
}
MEMBERS = {
    "sqlite3.connect": Member(gives="Connection", documented=lambda database, timeout=5.0: None),
    "sqlite3.Connection": Member(gives="Connection"),
    "Connection.execute": Member(gives="Cursor", documented=lambda sql, parameters=(): None),
    "Connection.commit": Member(documented=lambda: None),
    "Cursor.fetchone": Member(documented=lambda: None),
}


def found(tmp_path: Path, source: str, **named: str) -> tuple[list[str], list[str]]:
    path = tmp_path / "asked.py"
    path.write_text(textwrap.dedent(source))
    driver = Driver(CLASSES, MEMBERS, {"asked.py": named}, through=frozenset({"called"}))
    used = uses(driver, [path])
    problems = [fault for fault in faults(driver, used) if not fault.endswith("nothing uses it")]
    return [use.member for use in used], problems


@pytest.mark.parametrize(
    "source",
    [
        "import sqlite3\nsqlite3.connect('x').execute('y').fetchone()",
        "import sqlite3 as s\nc = s.connect('x')\nfor row in c.execute('y'):\n    row.fetchone()",
        "from sqlite3 import connect\nwith connect('x') as c:\n    c.execute('y').fetchone()",
        """
        import sqlite3
        class Asked:
            def __init__(self):
                self._other, self._native = 1, called(lambda: sqlite3.connect('x'))
            def ask(self):
                return called(self._native.execute, 'y').fetchone()
        """,
        """
        import sqlite3
        def opened() -> sqlite3.Connection:
            return sqlite3.connect('x')
        def ask():
            return [one.fetchone() for one in (opened().execute('y'),)] and opened().execute(
                'y').fetchone()
        """,
    ],
)
def test_objects_of_the_driver_are_followed(tmp_path: Path, source: str) -> None:
    members, problems = found(tmp_path, source)
    assert problems == []
    assert {"sqlite3.connect", "Connection.execute", "Cursor.fetchone"} <= set(members)


def test_a_method_of_the_same_name_is_not_taken_for_one_that_returns_an_object(
    tmp_path: Path,
) -> None:
    source = """
    import sqlite3
    class Kept:
        def get(self) -> sqlite3.Connection: ...
    def ask(kept: Kept, names: dict[str, str]) -> None:
        kept.get().commit()
        names.get("a", "b").upper()
    """
    assert found(tmp_path, source) == (["sqlite3.Connection", "Connection.commit"], [])


def test_parameters_are_known_by_annotation_or_by_their_names(tmp_path: Path) -> None:
    source = """
    import sqlite3
    def ask(connection: sqlite3.Connection | None, cursor, other):
        connection.commit(), cursor.fetchone(), other.commit()
    """
    assert found(tmp_path, source, cursor="Cursor") == (
        ["sqlite3.Connection", "Connection.commit", "Cursor.fetchone"],
        [],
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("c.iterdump()", "Connection.iterdump is not in the table"),
        ("c.commit(1)", "too many positional arguments"),
        ("c.execute()", "missing a required argument: 'sql'"),
        ("c.execute('y', limit=1)", "unexpected keyword argument 'limit'"),
        ("getattr(c, 'timeout', 0)", "Connection.timeout is not in the table"),
        ("c.isolation = 1", "Connection.isolation is not in the table"),
        ("called(c.execute, 'y', (), 1)", "too many positional arguments"),
        ("kw = {'lim': 1}\nc.execute('y', **kw)", "unexpected keyword argument 'lim'"),
    ],
)
def test_what_the_table_or_the_driver_lacks_is_a_fault(
    tmp_path: Path, line: str, problem: str
) -> None:
    _, problems = found(tmp_path, f"import sqlite3\nc = sqlite3.connect('x')\n{line}")
    (problem_text,) = problems
    assert problem_text.startswith("asked.py:")
    assert problem in problem_text


def test_a_member_that_the_driver_does_not_have_and_one_that_nothing_uses_are_faults(
    tmp_path: Path,
) -> None:
    path = tmp_path / "asked.py"
    path.write_text("import sqlite3\nsqlite3.gone()\n")
    driver = Driver(CLASSES, {"sqlite3.gone": Member(), "Cursor.fetchone": Member()})
    used = uses(driver, [path])
    assert [(use.where, use.call) for use in used] == [("asked.py:2", Call(0, (), False))]
    assert faults(driver, used) == [
        "asked.py:2: sqlite3.gone is no attribute of the driver",
        "Cursor.fetchone is in the table, but nothing uses it",
    ]
