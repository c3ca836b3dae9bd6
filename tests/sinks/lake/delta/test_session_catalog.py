"""Delta tables in the catalog of a Spark session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headrace.config.formats import OF_SPARK, read_mapping, read_text
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.sinks.delta.definition import DEFINITION
from headrace.sinks.delta.format import FORMAT
from headrace.sinks.delta.session_catalog import SPARK_RELEASES
from headrace.sinks.replicas.lake import NAME_NOT_TAKEN, Column, TableName, TableSchema
from tests.cli.first_steps.configurations import SHOP
from tests.docs.pages import block
from tests.sinks.lake.delta.applying import apply

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = TableSchema((Column("id", pa.int32()), Column("name", pa.string())), ("id",))


def options(folder: Path) -> Mapping[str, str]:
    return {"path": str(folder), "catalog.name": "spark_catalog"}


def files_of(folder: Path) -> set[Path]:
    """Every file in a folder."""
    return {path for path in folder.rglob("*") if path.is_file()}


def test_only_the_sessions_catalog_is_taken(tmp_path: Path) -> None:
    FORMAT.check(options(tmp_path))
    with pytest.raises(HeadraceError, match="catalog of the session only") as caught:
        FORMAT.check({**options(tmp_path), "catalog.name": "unity"})
    assert caught.value.code == "delta.other_catalog"


def test_the_properties_of_the_guide_are_taken() -> None:
    text = block("docs/guides/replicas.md", "catalog.name=spark_catalog").text
    properties, spark = read_text(text).split(OF_SPARK)
    config = parse_configuration(read_mapping(SHOP | dict(properties)))
    assert DEFINITION.unknown_options(config) == []
    FORMAT.check(DEFINITION.own_options(config))
    assert DEFINITION.session_settings(config)["spark.sql.catalogImplementation"] == "hive"
    assert list(spark) == ["spark.hadoop.hive.metastore.uris"]


def test_the_jars_and_settings_of_a_catalog_are_asked_for_where_one_is_named(
    tmp_path: Path,
) -> None:
    plain = {"path": str(tmp_path)}
    assert not any("delta-spark" in each for each in FORMAT.packages(plain))
    assert FORMAT.session_settings(plain) == {}
    assert "Spark's catalog" not in str(FORMAT.prove(plain))
    assert sum("delta-spark_" in each for each in FORMAT.packages(options(tmp_path))) == 1
    settings = FORMAT.session_settings(options(tmp_path))
    assert settings["spark.sql.catalog.spark_catalog"].endswith("DeltaCatalog")


def test_jars_that_are_not_there_are_an_error_before_spark_starts(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="has no delta-spark_") as caught:
        FORMAT.prove({**options(tmp_path), "jars": str(tmp_path)})
    assert caught.value.code == "spark.jars_not_found"


def test_a_spark_for_which_delta_has_no_package_is_an_error_that_names_those_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for release in SPARK_RELEASES:
        monkeypatch.setattr("pyspark.version.__version__", f"{release}.1")
        (package,) = set(FORMAT.packages(options(tmp_path))) - set(FORMAT.packages({}))
        assert package == f"io.delta:delta-spark_{release}_2.13:4.4.0"
    monkeypatch.setattr("pyspark.version.__version__", "4.9.0")
    with pytest.raises(HeadraceError, match=r"no catalog for Spark 4\.9") as caught:
        FORMAT.prove(options(tmp_path))
    assert caught.value.code == "delta.no_catalog"
    assert all(release in caught.value.remedy for release in SPARK_RELEASES)


@pytest.mark.spark
@pytest.mark.chaos
def test_sql_reads_tables_that_are_entered_once(delta_spark: SparkSession, tmp_path: Path) -> None:
    lake = FORMAT.open(delta_spark, options(tmp_path / "it's a lake"))
    name, plain = TableName(("shop",), "orders"), TableName((), "lone")
    table = lake.create(name, SCHEMA, {})
    lake.create(plain, SCHEMA, {})
    apply(table, 1, [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}])
    before = table.version()
    for _ in range(2):
        lake.announce(name)
        lake.announce(plain)
    table.refresh()
    assert table.version() == before  # the log has no commit of it

    def seen(table: str) -> list[tuple[int, str]]:
        return [tuple(row) for row in delta_spark.sql(f"SELECT * FROM {table}").collect()]

    assert sorted(seen("shop.orders")) == [(1, "one"), (2, "two")]
    assert seen("lone") == []
    apply(table, 2, [{"id": 3, "name": "three"}], [1])
    assert sorted(seen("spark_catalog.shop.orders")) == [(2, "two"), (3, "three")]

    # Another table of that name, and names that a catalog does not have.
    other = FORMAT.open(delta_spark, options(tmp_path / "other"))
    other.create(name, SCHEMA, {})
    with pytest.raises(HeadraceError, match=r"another table shop\.orders, in .*it's a lake"):
        other.announce(name)
    for bad in (TableName(("a", "b"), "c"), TableName(("shop",), "or-ders")):
        with pytest.raises(HeadraceError, match=r"names there are SCHEMA\.TABLE") as caught:
            lake.announce(bad)
        assert caught.value.code == NAME_NOT_TAKEN
    # What is dropped is the entry.
    files = files_of(tmp_path)
    delta_spark.sql("DROP TABLE shop.orders")
    assert files_of(tmp_path) == files
    lake.announce(name)
    assert len(seen("shop.orders")) == 2
    delta_spark.sql("DROP SCHEMA shop CASCADE")
    delta_spark.sql("DROP TABLE lone")
    assert files_of(tmp_path) == files
    lake.announce(name)
    assert sorted(seen("shop.orders")) == [(2, "two"), (3, "three")]
    delta_spark.sql("DROP SCHEMA shop CASCADE")
    lake.close()
    other.close()
