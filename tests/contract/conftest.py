"""The databases that the suite runs on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.contract.subject import Subject
from tests.contract.subjects.postgresql import PostgresSubject
from tests.servers.postgresql import Database


def _postgresql(request: pytest.FixtureRequest) -> Subject:
    database: Database = request.getfixturevalue("database")
    return PostgresSubject(database)


_SUBJECTS: dict[str, Callable[[pytest.FixtureRequest], Subject]] = {"postgresql": _postgresql}
_MARKS = {"postgresql": [pytest.mark.postgres]}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*features): what the database must have")


@pytest.fixture(params=[pytest.param(name, marks=_MARKS.get(name, ())) for name in _SUBJECTS])
def subject(request: pytest.FixtureRequest) -> Subject:
    """A fresh database, once per connector; `pytest -k NAME` chooses one."""
    subject = _SUBJECTS[request.param](request)
    needed = request.node.get_closest_marker("needs")
    absent = [f.value for f in (needed.args if needed else ()) if f not in subject.features]
    if absent:
        pytest.skip(f"not in this database: {', '.join(absent)}")
    return subject
