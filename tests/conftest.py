"""Shared fixtures, and the order of the run: what is fast fails first."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import settings
from pyspark.logger.logger import PySparkLogger

from headrace.errors import HeadraceError
from headrace.spark.jvm.maven import NotFetched
from headrace.testing.embedded import PostgresServer
from headrace.testing.mongodb import MongoServer
from headrace_demo.db2.derby import DerbyServer
from headrace_demo.oracle.server import OracleServer
from tests.connectors.db2.live_server import live as live_db2
from tests.connectors.oracle import live
from tests.resident.resident import Resident
from tests.servers.db2 import Db2Database
from tests.servers.java import choose_quick_java
from tests.servers.kafka import KafkaServer, SecuredKafka
from tests.servers.mongodb import SMALL_OPLOG, TICKING, MongoDatabase
from tests.servers.oracle import OracleDatabase
from tests.servers.postgresql import Database
from tests.servers.registry import RegistryServer
from tests.servers.sources import MongoSource, PostgresSource, Source
from tests.spark.jvm.training import train_once
from tests.spark.worker_session import WorkerSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Each worker collects 13,000 tests, which all stay: looking for garbage among them takes longer
# than their collection, and would go on in each test. `pytest_collection_finish` enables it.
gc.disable()

# IBM's driver tries for five seconds where nobody listens: headrace tries again by itself.
os.environ.setdefault("DB2_MAX_CLIENT_CONNRETRIES", "0")

_SLOW = ("oracle", "postgres", "mongodb", "db2", "spark", "chaos")
_MARKERS = {
    "worker_session": "spark", "residents": "spark", "postgres_servers": "postgres",
    "mongodb_servers": "mongodb", "derby_server": "db2", "db2_prepared": "db2",
    "oracle_server": "oracle", "oracle_stand_in": "oracle",
}  # fmt: skip
"""Fixtures that start Spark or a server, and the marker of each test with them: by the markers
runs choose their tests, and workers get theirs."""


def _add_handler(logger: PySparkLogger, handler: logging.Handler) -> None:
    """Add a handler as any logger does. PySpark's own method gives it another format, also to
    pytest's, of which all later tests read the texts."""
    logging.Logger.addHandler(logger, handler)


PySparkLogger.addHandler = _add_handler  # type: ignore[method-assign]

# A test says what is right, never how fast the machine is. `make test` tries the same examples in
# each run; `make fuzz` asks for the profile "random" and tries others, and twice as many.
settings.register_profile("headrace", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("random", deadline=None)
settings.load_profile("headrace")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Tests wait for servers half of their time, and a Spark session takes a gigabyte."""
    return min(8, 3 + (os.cpu_count() or 1))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.workers import Scheduling

    return Scheduling(config, log)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Kernels are compiled and Spark's classes parsed once, and not by every worker at the same
    time."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        choose_quick_java()  # workers inherit it
    if getattr(session.config.option, "numprocesses", None):
        command = [sys.executable, "-m", "headrace.cli", "compile"]
        root = session.config.rootpath
        # The connector of the conformance suite is as one of another package, with kernels too.
        paths = [str(root / "tests/contract/journal/installed"), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, cwd=root, env=environment
        ) as compiling:
            train_once()
        if compiling.returncode:
            pytest.exit("the kernels of the tests could not be compiled: see above", 3)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail the collection of tests that start Spark or a server without its marker. The report of
    a worker is printed; an error that a worker raises after its collection is not."""
    report = yield
    lacking = [
        f"{item.nodeid} needs the marker {marker}, for its fixture {fixture}"
        for item in report.result or ()
        for fixture, marker in _MARKERS.items()
        if fixture in getattr(item, "fixturenames", ()) and not item.get_closest_marker(marker)
    ]
    if lacking:
        report.outcome, report.longrepr, report.result = "failed", "\n".join(lacking), []
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def cost(item: pytest.Item) -> int:
        return max(
            (place for place, name in enumerate(_SLOW, 1) if item.get_closest_marker(name)),
            default=0,
        )

    items.sort(key=cost)


def pytest_collection_finish() -> None:
    """Leave what was collected out of the search for garbage."""
    gc.freeze()
    gc.enable()


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, str] | None:
    """Name a failed test, with the first line of its error, when it fails: a run that is ended
    before its summary has named it, too."""
    if not isinstance(report, pytest.TestReport) or not report.failed:
        return None
    category, letter = ("failed", "F") if report.when == "call" else ("error", "E")
    crash = getattr(report.longrepr, "reprcrash", None)
    error = str(getattr(crash, "message", "")).partition("\n")[0]
    return category, f"{letter}\n{report.nodeid}: {error}\n", category.upper()


class _ModuleOfDb2(pytest.Module):
    """A file whose tests are skipped where it needs IBM's driver, which is no wheel everywhere."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        try:
            return list(super().collect())
        except self.CollectError as error:
            if "ibm_db" in str(error) and "ModuleNotFoundError" in str(error):
                pytest.skip("IBM's driver (ibm_db) is not installed")
            raise


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    if util.find_spec("ibm_db") is not None:
        return None
    return _ModuleOfDb2.from_parent(parent, path=module_path)


@pytest.fixture(scope="session")
def postgres_servers() -> Iterator[Callable[[int], PostgresServer]]:
    """A function from a version to its server, which is started at the first call."""
    servers: dict[int, PostgresServer] = {}

    def running(version: int) -> PostgresServer:
        if version not in servers:
            servers[version] = PostgresServer(version)
        servers[version].start()
        return servers[version]

    yield running
    for server in servers.values():
        server.close()


@pytest.fixture(scope="session")
def kafka_server() -> Iterator[KafkaServer]:
    try:
        server = KafkaServer()
    except HeadraceError as error:
        if error.code == "spark.no_java":
            pytest.skip(error.message)
        raise
    except NotFetched as error:
        pytest.skip(str(error))
    yield server
    server.close()


@pytest.fixture(scope="session")
def worker_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerSession]:
    session = WorkerSession(tmp_path_factory.mktemp("warehouse"))
    yield session
    session.close()


@pytest.fixture(scope="module")
def spark(worker_session: WorkerSession) -> Iterator[SparkSession]:
    """The session that all tests of a worker share; nothing of a file is left for the next one."""
    yield worker_session.get()
    worker_session.clean()


@pytest.fixture(scope="session")
def secured_kafka(kafka_server: KafkaServer) -> Iterator[SecuredKafka]:
    """A broker that wants TLS and a login. `kafka_server` is asked for because it skips where it
    cannot be had."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    server = SecuredKafka()
    server.start()
    yield server
    server.close()


@pytest.fixture
def kafka(kafka_server: KafkaServer) -> KafkaServer:
    """A running broker, whose topics are everybody's."""
    kafka_server.start()
    return kafka_server


@pytest.fixture(scope="session")
def residents() -> Iterator[list[Resident]]:
    """The resident process of this worker, once it has been started."""
    running: list[Resident] = []
    yield running
    for resident in running:
        resident.close()


@pytest.fixture
def resident(residents: list[Resident]) -> Iterator[Resident]:
    """`headrace` on a Spark session that is there already, of this worker; what a failed test
    leaves running, ends."""
    if not residents:
        residents.append(Resident())
    (running,) = residents
    yield running
    running.end_started()
    if not running.is_running:  # the next test gets another one
        residents.clear()
        log_text = running.log()
        running.close()
        pytest.fail(f"the resident headrace ended: {log_text}")


@pytest.fixture
def postgres16(postgres_servers: Callable[[int], PostgresServer]) -> PostgresServer:
    return postgres_servers(16)


@pytest.fixture
def postgres18(postgres_servers: Callable[[int], PostgresServer]) -> PostgresServer:
    return postgres_servers(18)


@pytest.fixture
def postgres(
    request: pytest.FixtureRequest, postgres_servers: Callable[[int], PostgresServer]
) -> PostgresServer:
    """Version 16; `@pytest.mark.parametrize("postgres", [16, 18], indirect=True)` for others."""
    return postgres_servers(getattr(request, "param", 16))


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[Database]:
    """A fresh database on `postgres`; its sessions and slots go with it."""
    created = Database.create(postgres)
    yield created
    created.drop()


@pytest.fixture(scope="session")
def mongodb_servers() -> Iterator[Callable[[str], MongoServer]]:
    """A function from a kind, `plain`, `ticking` or `small oplog`, to its server, which is started
    at the first call."""
    servers: dict[str, MongoServer] = {}

    def running(kind: str) -> MongoServer:
        if kind not in servers:
            small = SMALL_OPLOG if kind == "small oplog" else None
            servers[kind] = MongoServer(small, parameters=TICKING if kind == "ticking" else ())
        try:
            servers[kind].start()
        except HeadraceError as error:
            if error.code == "embedded.not_installed" or "shared libraries" in error.message:
                pytest.skip(f"{error.message}. {error.remedy}")
            raise
        return servers[kind]

    yield running
    for server in servers.values():
        server.close()


@pytest.fixture
def mongodb(mongodb_servers: Callable[[str], MongoServer]) -> MongoServer:
    """A replica set of one member, which the worker's tests share."""
    return mongodb_servers("plain")


@pytest.fixture
def mongodb_small_oplog(mongodb_servers: Callable[[str], MongoServer]) -> MongoServer:
    """A replica set that can be made to lose its history; see `lose_history`."""
    return mongodb_servers("small oplog")


@pytest.fixture
def mongo_database(mongodb: MongoServer) -> Iterator[MongoDatabase]:
    """A fresh database on `mongodb`."""
    created = MongoDatabase.create(mongodb)
    yield created
    created.drop()


@pytest.fixture
def ticking_database(mongodb_servers: Callable[[str], MongoServer]) -> Iterator[MongoDatabase]:
    """A fresh database on a server whose log goes on each second, whatever is written."""
    created = MongoDatabase.create(mongodb_servers("ticking"))
    yield created
    created.drop()


@pytest.fixture(scope="session")
def derby_server() -> Iterator[DerbyServer]:
    """The stand-in for Db2 of this worker; tests with it are skipped where it is not to be had, and
    where HEADRACE_DB2_DSN names a server: those are of the stand-in alone."""
    if live_db2.DSN in os.environ:
        live_db2.unscripted("be the stand-in")
    server = DerbyServer()
    try:
        server.start()
    except HeadraceError as error:
        if error.code in ("embedded.not_installed", "spark.no_java"):
            pytest.skip(f"{error.message}. {error.remedy}")
        raise
    yield server
    server.kill()  # its data goes, too
    server.close()


@pytest.fixture
def derby(derby_server: DerbyServer) -> DerbyServer:
    """A running server, whose databases are everybody's."""
    derby_server.start()
    return derby_server


@pytest.fixture
def db2_prepared(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[[Callable[[Db2Database], None] | None], Db2Database]]:
    """A function that gives a database as `db2_database`, on which what is handed to it was done:
    once for a stand-in, whose files each test has a copy of."""
    databases: list[Db2Database] = []

    def prepared(prepare: Callable[[Db2Database], None] | None) -> Db2Database:
        if live_db2.DSN not in os.environ:
            databases.append(Db2Database.create(request.getfixturevalue("derby"), prepare=prepare))
            databases[-1].capture.start()
            return databases[-1]
        import ibm_db_dbi  # it is in an extra

        server = live_db2.LiveDb2(os.environ, lambda dsn: ibm_db_dbi.connect(dsn, "", ""))
        databases.append(live_db2.LiveDatabase.of(server))
        databases[-1].capture.start()
        if prepare is not None:
            prepare(databases[-1])
        return databases[-1]

    yield prepared
    for each in databases:
        each.close()


@pytest.fixture
def db2_database(
    db2_prepared: Callable[[Callable[[Db2Database], None] | None], Db2Database],
) -> Db2Database:
    """A fresh database on `derby` with control tables, or a live one; its Capture program runs."""
    return db2_prepared(None)


@pytest.fixture(scope="session")
def oracle_server() -> Iterator[OracleServer]:
    """The stand-in for Oracle of this worker, or the server that HEADRACE_ORACLE_DSN names."""
    if live.DSN in os.environ:
        import oracledb  # it is in an extra

        named = live.LiveOracle(os.environ, oracledb.connect)
        yield cast("OracleServer", named)
        named.close()
        return
    with OracleServer() as server:
        yield server


@pytest.fixture
def oracle_database(oracle_server: OracleServer) -> OracleDatabase:
    """An empty database on the stand-in, or on a live server."""
    return OracleDatabase.create(oracle_server)


@pytest.fixture(scope="session")
def oracle_stand_in(request: pytest.FixtureRequest) -> OracleServer:
    """The stand-in; tests with it are skipped where HEADRACE_ORACLE_DSN names a server: those are
    of what it says, or breaks, as no server does on request."""
    if live.DSN in os.environ:
        live.unscripted("be the stand-in")
    server: OracleServer = request.getfixturevalue("oracle_server")
    return server


@pytest.fixture
def stand_in(oracle_stand_in: OracleServer) -> OracleDatabase:
    """An empty database on the stand-in alone."""
    return OracleDatabase.create(oracle_stand_in)


@pytest.fixture(
    params=[
        pytest.param("postgresql", marks=pytest.mark.postgres),
        pytest.param("mongodb", marks=pytest.mark.mongodb),
    ]
)
def source(request: pytest.FixtureRequest) -> Iterator[Source]:
    """Each database in turn, with a fresh collection."""
    if request.param == "mongodb":
        # What follows the log to its end waits for the next entry of the oplog.
        created = MongoDatabase.create(request.getfixturevalue("mongodb_servers")("ticking"))
        yield MongoSource(created)
        created.drop()
        return
    with PostgresServer() as server:
        yield PostgresSource(server)


@pytest.fixture(scope="session")
def registry_server() -> Iterator[RegistryServer]:
    """A schema registry of this worker; tests with it are skipped where it cannot be fetched."""
    try:
        server = RegistryServer()
    except NotFetched as error:
        pytest.skip(str(error))
    server.start()
    yield server
    server.close()
