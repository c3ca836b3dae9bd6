"""Every code that a check of a connector refuses with has a case, or a reason to have none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import headrace
from tests.cli.first_steps.precondition_cases import (
    DB2,
    MONGODB,
    ORACLE,
    ORACLE_RESTARTS,
    POSTGRESQL,
)

SOURCES = Path(headrace.__file__).parent
RELATIONAL = ("postgresql", "oracle", "db2")
ASKED = [
    *SOURCES.glob("connectors/*/checks/*.py"),
    *(
        SOURCES / name
        for name in (
            "connectors/mongodb/reading/filters.py",
            "connectors/mongodb/servers.py",
            "connectors/oracle/catalog/redo_state.py",
            "connectors/postgresql/reading/overrides.py",
            "connectors/postgresql/replication/publication.py",
            "connectors/postgresql/replication/slot.py",
            "relational/checks.py",
            "relational/heartbeat_query.py",
            "relational/history/checks.py",
            "signals/checks.py",
        )
    ),
]
"""The checks, and what they share with starts."""
ELSEWHERE = {
    "postgresql.wal_level": "test_settings_of_postgresql",
    "postgresql.limit_reached": "test_settings_of_postgresql",
    "postgresql.slot_missing": "test_what_the_checkpoint_of_postgresql_expects",
    "postgresql.slot_moved": "test_what_the_checkpoint_of_postgresql_expects",
    "postgresql.position_ahead": "test_what_the_checkpoint_of_postgresql_expects",
}
"""Codes that need more than a case has, and their tests in test_preconditions."""
EXEMPT = {
    "db2.capture_clock": "A warning of a start: test_checks of Db2.",
    "db2.heartbeat_table": "Db2 has no heartbeat.action.query.",
    "db2.no_privilege": "A server that grants: test_checks and test_foreign_tables of Db2.",
    "db2.registration_not_begun": "A warning of both: test_checks of Db2.",
    "db2.shared_name": "The code is the one of every connector: PostgreSQL's case.",
    "oracle.archive_destination_fails": "A warning of both: test_checks of Oracle.",
    "oracle.mining": "Of LogMiner, which `check` alone tries: test_first_session of Oracle.",
    "oracle.shared_name": "The code is the one of every connector: PostgreSQL's case.",
    "db2.updates_without_before": "A warning of both.",
    "postgresql.pooler": "Of hosts of services: test_managed of PostgreSQL.",
    "postgresql.slot_in_use": "A start waits for the slot; `check` warns.",
    "postgresql.slot_lost": "A server has to lose WAL: tests of slots; both ask check_slot.",
    "postgresql.slot_timeout": "Of making a slot, which no check does.",
    "postgresql.standby": "Of servers before 16, which the tests have not.",
}
"""Codes without a case, and why."""


def refusals(path: Path) -> Iterator[str]:
    """The codes of errors that a module makes; CONNECTOR. begins those of every connector."""
    tree = ast.parse(path.read_text())
    parts = path.relative_to(SOURCES).parts
    connector = parts[1] if parts[0] == "connectors" else "CONNECTOR"
    constants = {
        name: value
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_literal(node.value)
        for target in node.targets
        for name, value in _named(target, ast.literal_eval(node.value))
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        code = node.args[0]
        text: object = code.value if isinstance(code, ast.Constant) else None
        if isinstance(code, ast.Name):
            text = constants.get(code.id)
        if isinstance(code, ast.JoinedStr):
            last = code.values[-1]
            text = f"CONNECTOR{last.value!s}" if isinstance(last, ast.Constant) else None
        if name in ("refuse", "foresee") and isinstance(text, str):
            yield f"{connector}.{text}"
        level = ast.unparse(node.args[1]) if name == "add" and len(node.args) > 1 else ""
        if (name == "HeadraceError" or "'error'" in level) and isinstance(text, str):
            yield text


def _is_literal(tree: ast.expr) -> bool:
    items = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    return all(isinstance(item, ast.Constant) for item in items)


def _named(target: ast.expr, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    if isinstance(target, ast.Tuple) and isinstance(value, tuple):
        for element, part in zip(target.elts, value, strict=True):
            yield from _named(element, part)


def all_refusals() -> set[str]:
    codes = {code for path in ASKED for code in refusals(path)}
    of_all = {code for code in codes if code.startswith("CONNECTOR.")}
    return (codes - of_all) | {
        f"{connector}.{code.partition('.')[2]}" for code in of_all for connector in RELATIONAL
    }


def test_every_code_of_a_check_has_a_case_or_a_reason_to_have_none() -> None:
    cases = [*POSTGRESQL, *MONGODB, *ORACLE, *ORACLE_RESTARTS, *DB2]
    covered = {case.code for case in cases} | set(ELSEWHERE)
    codes = all_refusals()
    assert len(codes) > 40
    assert codes - covered - set(EXEMPT) == set()


def test_no_reason_is_left_over() -> None:
    assert set(EXEMPT) <= all_refusals()


def test_codes_that_need_more_have_their_tests() -> None:
    text = Path(__file__).with_name("test_preconditions.py").read_text()
    for code, test in ELSEWHERE.items():
        assert f"def {test}(" in text
        assert f'"{code}"' in text.partition(f"def {test}(")[2]
