"""The databases that the suite runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.connectors import registry
from tests.contract.journal.subject import JournalSubject
from tests.contract.subject import Subject
from tests.contract.subjects.postgresql import PostgresSubject
from tests.servers.postgresql import Database

_INSTALLED = Path(__file__).parent / "journal" / "installed"


def _postgresql(request: pytest.FixtureRequest) -> Subject:
    database: Database = request.getfixturevalue("database")
    return PostgresSubject(database)


def _journal(request: pytest.FixtureRequest) -> Subject:
    request.getfixturevalue("journal_is_installed")
    folder: Path = request.getfixturevalue("tmp_path")
    return JournalSubject(folder)


@pytest.fixture
def journal_is_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The journal is found as somebody else's package would be: by its entry point."""
    monkeypatch.syspath_prepend(_INSTALLED)
    registry.forget_added()
    yield
    registry.forget_added()


_SUBJECTS: dict[str, Callable[[pytest.FixtureRequest], Subject]] = {
    "postgresql": _postgresql,
    "journal": _journal,
}
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
