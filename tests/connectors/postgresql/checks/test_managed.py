"""`headrace check` on servers of services, each imitated by the facts by which it is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from headrace.connectors.postgresql.checks.database import check, require
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.findings import Finding
from headrace.testing.embedded import PostgresServer
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


class Service(NamedTuple):
    """The facts of a service's server, and the texts of its remedies."""

    name: str
    roles: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    function: str = ""
    decoding: str = ""
    replication: str = "ALTER ROLE {role} REPLICATION;"
    slots: str = ""

    @property
    def facts(self) -> set[str]:
        named = {f"role {name}" for name in self.roles}
        named |= {f"setting {name}" for name in self.settings}
        return named | ({f"function {self.function}"} if self.function else set())


RDS = Service(
    "Amazon RDS",
    roles=("rds_superuser", "rds_replication"),
    settings=("rds.logical_replication", "rds.extensions"),
    decoding="rds.logical_replication = 1 in the DB parameter group",
    replication="GRANT rds_replication TO {role};",
    slots="in the DB parameter group",
)
NEON = Service(
    "Neon",
    roles=("neon_superuser",),
    settings=("neon.tenant_id", "neon.timeline_id"),
    decoding="Enable logical replication in the settings of the project",
    replication="made by Neon's console, CLI or API",
    slots="by Neon's support",
)
AZURE = Service(
    "Azure Database for PostgreSQL",
    roles=("azure_pg_admin",),
    settings=("azure.extensions",),
    decoding="server parameter wal_level to logical",
    slots="as a server parameter",
)
SUPABASE = Service(
    "Supabase",
    roles=("supabase_admin",),
    decoding="Supabase's projects have wal_level = logical",
    slots="by Supabase's CLI",
)
SERVICES = (
    RDS,
    RDS._replace(
        name="Amazon Aurora",
        function="aurora_version",
        decoding="rds.logical_replication = 1 in the parameter group of the DB cluster",
        slots="in the parameter group of the DB cluster",
    ),
    Service(
        "Google Cloud SQL",
        roles=("cloudsqlsuperuser",),
        settings=("cloudsql.logical_decoding", "cloudsql.iam_authentication"),
        decoding="the flag cloudsql.logical_decoding = on",
        slots="as a flag of the instance",
    ),
    AZURE,
    NEON,
    SUPABASE,
)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """One whose log is not decoded, and which has one place for a slot, which is taken."""
    with PostgresServer(
        settings={"wal_level": "replica", "max_replication_slots": "1"}
    ) as postgres:
        postgres.start()
        postgres.execute("CREATE ROLE cdc LOGIN")
        postgres.execute("SELECT pg_create_physical_replication_slot('taken')")
        yield postgres


@pytest.fixture
def bare(server: PostgresServer) -> Iterator[Database]:
    """A database with a table that the role cdc may read."""
    database = Database.create(server)
    database.execute("CREATE TABLE t (id int PRIMARY KEY); GRANT SELECT ON t TO cdc")
    yield database
    database.drop()


@pytest.fixture
def imitated(bare: Database, request: pytest.FixtureRequest) -> Iterator[Database]:
    """The database, whose server has what a service's have."""
    service: Service = request.param
    for role in service.roles:
        bare.execute(f"CREATE ROLE {role}")
    for setting in service.settings:
        bare.execute(f"ALTER DATABASE {bare.name} SET {setting} = 'x'")
    if service.function:
        body = "RETURNS text LANGUAGE sql AS 'SELECT ''16.6.2'''"
        bare.execute(f"CREATE FUNCTION {service.function}() {body}")
    yield bare
    for role in service.roles:
        bare.execute(f"DROP ROLE {role}")


def findings(database: Database, **more: str) -> dict[str, Finding]:
    """The findings for the role cdc, by their codes; `more` uses `_` for `.` in names."""
    return {
        finding.code: finding for finding in check(parse_configuration(given(database, **more)))
    }


def given(database: Database, **more: str) -> dict[str, str]:
    return database.properties(database_user="cdc", **more)


def services(function):  # type: ignore[no-untyped-def]
    """A test with each service: the database `imitated`, and its `service`."""
    pairs = [(service, service) for service in SERVICES]
    names = [service.name for service in SERVICES]
    return pytest.mark.parametrize(
        ("imitated", "service"), pairs, indirect=["imitated"], ids=names
    )(function)


@services
def test_a_service_is_known_by_its_own_facts(imitated: Database, service: Service) -> None:
    reported = findings(imitated)["postgresql.managed"]
    assert reported.level == "ok"
    name, _, facts = reported.message.removesuffix(")").partition("'s (")
    assert name == f"The server is {service.name}"
    known = service.facts
    if service.function:  # RDS's facts do not distinguish it from RDS
        known = {f"function {service.function}"}
    assert set(facts.split(", ")) == known


@services
def test_remedies_of_a_service_need_no_superuser(imitated: Database, service: Service) -> None:
    reported = findings(imitated)
    assert service.decoding in reported["postgresql.wal_level"].remedy
    replication = service.replication.replace("{role}", '"cdc"')
    assert replication in reported["postgresql.no_replication_privilege"].remedy
    assert service.slots in reported["postgresql.limit_reached"].remedy
    publication = reported["postgresql.publication_privilege"].remedy
    assert publication.startswith("As the owner of the tables")
    assert "CREATE PUBLICATION" in publication
    assert "database.sslmode=verify-full" in reported["postgresql.tls_unverified"].remedy
    text = " ".join(finding.remedy for finding in reported.values())
    assert "As a superuser" not in text
    assert "ALTER SYSTEM" not in text
    assert "pg_hba.conf" not in text


@services
def test_a_start_that_is_refused_has_the_remedy_of_the_service(
    imitated: Database, service: Service
) -> None:
    with pytest.raises(HeadraceError, match="wal_level is replica") as raised:
        require(parse_configuration(given(imitated)), continues=False, resumes=False)
    assert service.decoding in raised.value.remedy


def test_a_server_of_nobodys_has_the_remedies_of_a_superuser(bare: Database) -> None:
    reported = findings(bare)
    assert not {"postgresql.managed", "postgresql.tls_unverified"} & reported.keys()
    assert "ALTER SYSTEM SET wal_level = logical;" in reported["postgresql.wal_level"].remedy
    assert reported["postgresql.no_replication_privilege"].remedy.startswith("As a superuser:")
    assert reported["postgresql.publication_privilege"].remedy.startswith("As a superuser:")


@pytest.mark.parametrize(
    ("imitated", "host"),
    [
        (NEON, "ep-cool-darkness-123456-pooler.eu-central-1.aws.neon.tech"),
        (SUPABASE, "aws-0-eu-central-1.pooler.supabase.com"),
    ],
    indirect=["imitated"],
)
def test_a_connection_pooler_is_refused_by_its_name(imitated: Database, host: str) -> None:
    address = {"database.hostname": host, "driver.hostaddr": imitated.server.host}
    reported = {
        finding.code: finding for finding in check(parse_configuration(given(imitated) | address))
    }
    assert host in reported["postgresql.pooler"].message
    assert reported["postgresql.pooler"].level == "error"
    assert "postgresql.pooler" not in findings(imitated)


@pytest.mark.parametrize("imitated", [AZURE], indirect=True)
def test_a_limit_of_wal_that_nobody_may_set_is_not_asked_for(imitated: Database) -> None:
    remedy = findings(imitated)["postgresql.wal_unlimited"].remedy
    assert "does not allow to set it" in remedy
    assert "Set a limit" not in remedy


@pytest.mark.parametrize(
    ("host", "service"),
    [
        ("shop.c1a2b3.eu-west-1.rds.amazonaws.com", "Amazon RDS"),
        ("shop.postgres.database.azure.com", "Azure Database for PostgreSQL"),
        ("ep-cool-darkness-123456.eu-central-1.aws.neon.tech", "Neon"),
        ("db.abcdefgh.supabase.co", "Supabase"),
        ("0a1b.2c3d.europe-west1.sql.goog", "Google Cloud SQL"),
    ],
)
def test_a_service_is_known_by_the_name_of_its_host(
    bare: Database, host: str, service: str
) -> None:
    address = {"database.hostname": host, "driver.hostaddr": bare.server.host}
    reported = {
        finding.code: finding for finding in check(parse_configuration(given(bare) | address))
    }
    assert reported["postgresql.managed"].message == f"The server is {service}'s (host {host})"


def test_a_missing_role_comes_with_the_statements_of_the_service(bare: Database) -> None:
    host = "shop.c1a2b3.eu-west-1.rds.amazonaws.com"
    address = {"database.hostname": host, "driver.hostaddr": bare.server.host}
    (reported,) = check(parse_configuration(given(bare) | address | {"database.user": "nobody"}))
    assert reported.code == "postgresql.authentication"
    assert """CREATE ROLE "nobody" LOGIN PASSWORD '…';""" in reported.remedy
    assert 'GRANT rds_replication TO "nobody";' in reported.remedy
