"""The databases that the suite runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from headrace.connectors import registry
from headrace.snapshots import chunks
from headrace.testing.mongodb import MongoServer
from tests.contract.journal.subject import JournalSubject
from tests.contract.subject import Feature, Subject
from tests.contract.subjects.db2 import Db2Subject
from tests.contract.subjects.mongodb import MongoSubject
from tests.contract.subjects.oracle import OracleSubject
from tests.contract.subjects.postgresql import PostgresSubject
from tests.servers.db2 import Db2Database
from tests.servers.mongodb import MongoDatabase
from tests.servers.oracle import OracleDatabase
from tests.servers.postgresql import Database

_INSTALLED = Path(__file__).parent / "journal" / "installed"


def _postgresql(request: pytest.FixtureRequest) -> Subject:
    database: Database = request.getfixturevalue("database")
    return PostgresSubject(database)


def _journal(request: pytest.FixtureRequest) -> Subject:
    request.getfixturevalue("journal_is_installed")
    folder: Path = request.getfixturevalue("tmp_path")
    return JournalSubject(folder)


def _mongodb(request: pytest.FixtureRequest) -> Subject:
    servers: Callable[[str], MongoServer] = request.getfixturevalue("mongodb_servers")
    kinds = {Feature.LOSES: "small oplog", Feature.SIGNALS: "ticking"}
    kind = next((kinds[feature] for feature in _needed(request) if feature in kinds), "plain")
    database = MongoDatabase.create(servers(kind))
    request.addfinalizer(database.drop)
    return MongoSubject(database)


def _db2(request: pytest.FixtureRequest) -> Subject:
    database = Db2Database.create(request.getfixturevalue("derby"), prepare=Db2Subject.prepare)
    request.addfinalizer(database.close)
    database.capture.start()
    return Db2Subject(database)


def _oracle(request: pytest.FixtureRequest) -> Subject:
    database: OracleDatabase = request.getfixturevalue("oracle_database")
    return OracleSubject(database)


@pytest.fixture
def journal_is_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The journal is found as somebody else's package would be: by its entry point."""
    monkeypatch.syspath_prepend(_INSTALLED)
    registry.forget_added()
    yield
    registry.forget_added()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk of a snapshot has at least seventy rows, and not a thousand: a table is many chunks
    without many rows."""
    monkeypatch.setattr(chunks, "_MIN_ROWS", 70)


_SUBJECTS: dict[str, Callable[[pytest.FixtureRequest], Subject]] = {
    "postgresql": _postgresql,
    "journal": _journal,
    "mongodb": _mongodb,
    "db2": _db2,
    "oracle": _oracle,
}
_MARKS = {
    "postgresql": [pytest.mark.postgres],
    "mongodb": [pytest.mark.mongodb],
    "db2": [pytest.mark.db2],
    "oracle": [pytest.mark.oracle],
}


def _needed(request: pytest.FixtureRequest) -> Sequence[Feature]:
    """The features that the test needs of its database."""
    marker = request.node.get_closest_marker("needs")
    return marker.args if marker else ()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*features): what the database must have")


@pytest.fixture(params=[pytest.param(name, marks=_MARKS.get(name, ())) for name in _SUBJECTS])
def subject(request: pytest.FixtureRequest) -> Subject:
    """A fresh database, once per connector; `pytest -k NAME` chooses one."""
    subject = _SUBJECTS[request.param](request)
    absent = [f.value for f in _needed(request) if f not in subject.features]
    if absent:
        pytest.skip(f"not in this database: {', '.join(absent)}")
    return subject
