"""The database of a JDBC catalog: what a check and a start say of its driver, login and rights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.format import FORMAT
from headrace.sinks.iceberg.jdbc import DRIVERS, CatalogDatabase
from headrace.sinks.iceberg.options import IcebergOptions
from headrace.testing.embedded import PostgresServer
from tests.servers.postgresql import Database
from tests.sinks.lake.jars import jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PASSWORD = "right,word)1"


@dataclass(frozen=True)
class Catalog:
    """A database for a catalog, a role that owns it and one without rights, with passwords."""

    database: Database
    owner: str
    other: str

    def uri(self, name: str | None = None) -> str:
        """Its address for Java."""
        server = self.database.server
        return f"jdbc:postgresql://{server.host}:{server.port}/{name or self.database.name}"

    def options(self, folder: Path, user: str | None = None, **more: str) -> dict[str, str]:
        """Options of the sink with a login; `more` has `_` for `.`."""
        login = {"catalog.jdbc.user": user or self.owner, "catalog.jdbc.password": PASSWORD}
        catalog_options = {"warehouse": str(folder / "lake"), "catalog.uri": self.uri()} | login
        return catalog_options | {name.replace("_", "."): value for name, value in more.items()}


@pytest.fixture(scope="module")
def locked() -> Iterator[PostgresServer]:
    """A server that asks everybody but its superuser for a password."""
    with PostgresServer() as server:
        (name,) = server.execute("SHOW hba_file")[0]
        text = "local all all trust\nhost all postgres all trust\nhost all all all scram-sha-256\n"
        Path(name).write_text(text)
        server.execute("SELECT pg_reload_conf()")
        yield server


@pytest.fixture
def catalog(locked: PostgresServer) -> Iterator[Catalog]:
    database = Database.create(locked)
    owner, other = f"owner_{database.name}", f"other_{database.name}"
    for role in (owner, other):
        database.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
    database.execute(f"GRANT ALL ON SCHEMA public TO {owner}")
    yield Catalog(database, owner, other)
    database.drop()


@pytest.fixture
def driver() -> str:
    """The jar of PostgreSQL's driver; the test is skipped where it cannot be fetched."""
    return fetched(DRIVERS["postgresql"])


def fetched(package: str) -> str:
    try:
        return str(jars([package])[0])
    except HeadraceError as error:
        pytest.skip(error.message)


def refused(options: Mapping[str, str], spark: Mapping[str, str]) -> HeadraceError:
    """The error of the check."""
    with pytest.raises(HeadraceError) as raised:
        FORMAT.prove_catalog(options, spark)
    assert PASSWORD not in str(raised.value)
    return raised.value


def tables(catalog: Catalog) -> list[str]:
    rows = catalog.database.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    )
    return [name for (name,) in rows]


@pytest.mark.postgres
def test_a_driver_that_is_not_on_the_class_path_is_named_by_its_coordinates(
    catalog: Catalog, tmp_path: Path
) -> None:
    error = refused(catalog.options(tmp_path), {})
    assert error.code == "iceberg.driver_missing"
    assert f"headrace.sink.catalog.uri = '{catalog.uri()}'" in error.message
    assert f"spark.jars.packages={DRIVERS['postgresql']}" in error.remedy
    assert "spark.jars=/PATH/postgresql-" in error.remedy


@pytest.mark.postgres
def test_the_driver_of_another_database_is_named_beside_the_missing_one(
    catalog: Catalog, tmp_path: Path
) -> None:
    other = fetched(DRIVERS["mysql"])
    error = refused(catalog.options(tmp_path), {"spark.jars": other})
    assert error.code == "iceberg.driver_missing"
    assert "; it has com.mysql.cj.jdbc.Driver" in error.message


def test_an_address_with_a_typing_error_is_corrected(tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "catalog.uri": "jdbc:postgres://host/db"}
    error = refused(options, {})
    assert error.code == "iceberg.driver_missing"
    assert "jdbc:postgresql:" in error.remedy


def test_a_jar_that_is_not_there_is_named(tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "catalog.uri": "jdbc:postgresql://host/db"}
    missing = f"{tmp_path}/postgresql.jar"
    error = refused(options, {"spark.jars": missing})
    assert error.code == "iceberg.driver_missing"
    assert missing in error.message
    assert "Correct the path in spark.jars" in error.remedy


def test_a_jar_that_only_spark_reads_is_a_warning(tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "catalog.uri": "jdbc:postgresql://host/db"}
    error = refused(options, {"spark.jars": "https://user:hidden-word@host/driver.jar"})
    assert error.code == "iceberg.driver_not_checked"
    assert "spark.jars=https://" in error.message
    assert "hidden-word" not in error.message


@pytest.mark.parametrize("uri", ["postgresql://host/db", "host", "", "jdbc:", "jdbc:x"])
def test_an_address_that_is_none_of_java_is_refused_with_the_options(uri: str) -> None:
    with pytest.raises(HeadraceError, match="for Java") as raised:
        FORMAT.check({"warehouse": "/lake", "catalog.uri": uri})
    assert raised.value.code == "iceberg.impossible_option"


@pytest.mark.postgres
def test_a_server_that_is_not_there_may_come(tmp_path: Path, driver: str) -> None:
    uri = "jdbc:postgresql://127.0.0.1:9/db"
    error = refused({"warehouse": str(tmp_path), "catalog.uri": uri}, {"spark.jars": driver})
    assert (error.code, error.retriable) == ("iceberg.catalog_unreachable", True)
    assert f"headrace.sink.catalog.uri = '{uri}'" in error.message


@pytest.mark.postgres
@pytest.mark.parametrize("place", ["option", "address"])
def test_a_wrong_password_is_not_shown(
    catalog: Catalog, tmp_path: Path, driver: str, place: str
) -> None:
    wrong = "wrong,rest)of-it"
    options = catalog.options(tmp_path, catalog_jdbc_password=wrong)
    if place == "address":
        del options["catalog.jdbc.user"], options["catalog.jdbc.password"]
        options["catalog.uri"] += f"?user={catalog.owner}&password={wrong}"
    error = refused(options, {"spark.jars": driver})
    assert (error.code, error.retriable) == ("iceberg.catalog_login", False)
    assert "catalog.jdbc.password" in error.remedy
    assert "wrong" not in str(error)
    assert "rest" not in str(error)


@pytest.mark.postgres
def test_a_database_that_does_not_exist_is_named(
    catalog: Catalog, tmp_path: Path, driver: str
) -> None:
    options = catalog.options(tmp_path, catalog_uri=catalog.uri("nowhere"))
    error = refused(options, {"spark.jars": driver})
    assert error.code == "iceberg.catalog_database"
    assert "/nowhere'" in error.message


@pytest.mark.postgres
def test_a_user_that_may_not_create_tables_is_refused(
    catalog: Catalog, tmp_path: Path, driver: str
) -> None:
    error = refused(catalog.options(tmp_path, catalog.other), {"spark.jars": driver})
    assert error.code == "iceberg.catalog_rights"
    assert "may not create a table" in error.message


@pytest.mark.postgres
def test_a_check_leaves_no_table(catalog: Catalog, tmp_path: Path, driver: str) -> None:
    proved = FORMAT.prove_catalog(catalog.options(tmp_path), {"spark.jars": driver})
    assert proved is not None
    assert catalog.uri() in proved
    assert tables(catalog) == []


@pytest.mark.postgres
@pytest.mark.parametrize("right", ["SELECT", "INSERT", "UPDATE", "DELETE"])
@pytest.mark.parametrize("table", ["iceberg_tables", "iceberg_namespace_properties"])
def test_each_right_on_the_tables_of_a_catalog_is_needed(
    catalog: Catalog, driver: str, tmp_path: Path, table: str, right: str
) -> None:
    for name, column in (
        ("iceberg_tables", "metadata_location"),
        ("iceberg_namespace_properties", "property_value"),
    ):
        catalog.database.execute(
            f"CREATE TABLE {name} (name text, {column} text);"
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON {name} TO {catalog.other};"
            f"INSERT INTO {name} VALUES ('a', 'b')"
        )
    options = catalog.options(tmp_path, catalog.other)
    assert FORMAT.prove_catalog(options, {"spark.jars": driver}) is not None
    catalog.database.execute(f"REVOKE {right} ON {table} FROM {catalog.other}")
    error = refused(options, {"spark.jars": driver})
    assert error.code == "iceberg.catalog_rights"
    assert f"permission denied for table {table}" in error.message
    assert catalog.database.execute(f"SELECT * FROM {table}") == [("a", "b")]


def test_a_check_does_not_make_the_file_of_sqlite(tmp_path: Path) -> None:
    proved = FORMAT.prove_catalog({"warehouse": str(tmp_path / "lake")}, {})
    assert proved is not None
    assert str(tmp_path / "lake" / "catalog.db") in proved
    assert list(tmp_path.iterdir()) == []


@pytest.mark.postgres
def test_a_file_that_is_no_database_of_sqlite_is_refused(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_text("a text that is long enough for a header" * 20)
    error = refused({"warehouse": str(tmp_path)}, {})
    assert error.code == "iceberg.catalog_refused"
    assert "not a database" in error.message


@pytest.mark.spark
def test_a_start_says_what_the_check_says(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session of the tests has SQLite's driver alone."""
    with pytest.raises(HeadraceError) as raised:
        FORMAT.open(spark, {"warehouse": str(tmp_path), "catalog.uri": "jdbc:postgresql://host/db"})
    if raised.value.code == "iceberg.jars_missing":
        pytest.skip(f"the jars cannot be fetched here: {raised.value.message}")
    assert raised.value.code == "iceberg.driver_missing"
    assert f"spark.jars.packages={DRIVERS['postgresql']}" in raised.value.remedy
    (tmp_path / "catalog.db").write_text("a text that is long enough for a header" * 20)
    with pytest.raises(HeadraceError, match="not a database") as raised:
        FORMAT.open(spark, {"warehouse": str(tmp_path)})
    assert raised.value.code == "iceberg.catalog_refused"
    (tmp_path / "file").touch()
    uri = f"jdbc:sqlite:{tmp_path}/file/catalog.db"
    with pytest.raises(HeadraceError) as raised:
        FORMAT.open(spark, {"warehouse": str(tmp_path), "catalog.uri": uri})
    assert raised.value.code == "replicas.storage_failed"


@given(
    secret=st.text(
        st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="&;{}"),
        min_size=8,
    ),
    separators=st.sampled_from([("?", "&"), (";", ";")]),
)
def test_a_password_in_an_address_is_hidden_whatever_its_characters(
    secret: str, separators: tuple[str, str]
) -> None:
    first, next_one = separators
    uri = f"jdbc:product://host/db{first}user=u{next_one}password={secret}{next_one}ssl=true"
    options = IcebergOptions.of({"warehouse": "/lake", "catalog.uri": uri})
    assert secret not in options.safe(f"Failed to connect: {uri}: no")
    assert CatalogDatabase(options).address == "jdbc:product://host/db"
