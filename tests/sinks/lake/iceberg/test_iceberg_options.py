"""Options of Iceberg's catalogs, checked before Spark starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.format import FORMAT
from headrace.sinks.iceberg.options import IcebergOptions

WAREHOUSE = {"warehouse": "/lake"}


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ({}, "iceberg.option_missing", "needs headrace.sink.warehouse"),
        ({"catalog.type": "rest"}, "iceberg.option_missing", "needs headrace.sink.catalog.uri"),
        (WAREHOUSE | {"catalog.type": "glue"}, "iceberg.impossible_option", "'glue'"),
        (
            WAREHOUSE | {"format-version": "2"},
            "iceberg.impossible_option",
            "version 2 is not supported yet",
        ),
        (
            {"warehouse": "s3a://bucket/lake", "catalog.type": "hadoop"},
            "iceberg.impossible_option",
            "renaming a file, which is not atomic on s3a://",
        ),
        (
            {"warehouse": "ABFSS://lake@account/lake", "catalog.type": "hadoop"},
            "iceberg.impossible_option",
            "not atomic on ABFSS://",
        ),
        (
            {"warehouse": "hdfs://name-node/lake", "catalog.type": "hadoop"},
            "iceberg.storage_not_supported",
            "is on hdfs://",
        ),
        (
            {"warehouse": "gs://lake/a", "catalog.type": "rest", "catalog.uri": "http://catalog"},
            "iceberg.storage_not_supported",
            "is on gs://",
        ),
        (WAREHOUSE | {"table.comment": "x"}, "iceberg.impossible_option", "headrace sets it"),
        (WAREHOUSE | {"table.headrace.key": "x"}, "iceberg.impossible_option", "table.headrace"),
    ],
)
def test_options_that_cannot_be_are_named(options: Mapping[str, str], code: str, text: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        FORMAT.check(options)
    assert raised.value.code == code
    assert text in raised.value.message


def test_a_jdbc_catalog_is_in_the_warehouse_unless_another_is_named() -> None:
    iceberg_options = IcebergOptions.of(WAREHOUSE)
    assert iceberg_options.properties["uri"] == "jdbc:sqlite:/lake/catalog.db"
    assert iceberg_options.catalog == "headrace"
    assert iceberg_options.properties["jdbc.busy_timeout"] == "30000"
    other = {
        "catalog.uri": "jdbc:other://host/db",
        "catalog.name": "lake",
        "catalog.jdbc.user": "u",
    }
    iceberg_options = IcebergOptions.of(WAREHOUSE | other)
    assert (iceberg_options.catalog, iceberg_options.properties["uri"]) == (
        "lake",
        "jdbc:other://host/db",
    )
    assert iceberg_options.properties["jdbc.user"] == "u"
    assert "jdbc.busy_timeout" not in iceberg_options.properties


@pytest.mark.parametrize("warehouse", ["name", "arn:aws:s3tables:x", "file:/a", "s3://a/b", ""])
def test_a_rest_catalog_gets_a_name_or_a_location_as_it_is(warehouse: str) -> None:
    options = {"catalog.type": "rest", "catalog.uri": "http://catalog", "warehouse": warehouse}
    assert IcebergOptions.of(options).warehouse == warehouse


@pytest.mark.parametrize("warehouse", ["file:/a/lake/", "file:///a/lake", "/a/lake"])
def test_a_local_warehouse_is_a_path_or_a_uri(warehouse: str) -> None:
    assert IcebergOptions.of({"warehouse": warehouse}).warehouse == "/a/lake"


def test_a_relative_warehouse_is_where_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert IcebergOptions.of({"warehouse": "lake"}).warehouse == str(tmp_path / "lake")


def test_packages_are_what_the_catalog_needs() -> None:
    def names(**options: str) -> set[str]:
        packages = FORMAT.packages({k.replace("_", "."): v for k, v in options.items()})
        return {package.split(":")[1] for package in packages}

    core = {"iceberg-api", "iceberg-core", "iceberg-common", "iceberg-bundled-guava", "caffeine"}
    assert names() == core | {"sqlite-jdbc"}
    assert names(catalog_uri="jdbc:other:db") == core
    assert names(catalog_type="hadoop") == core
    assert names(catalog_type="rest", catalog_uri="http://c") == core | {
        "httpclient5",
        "httpcore5",
        "httpcore5-h2",
    }


def test_secrets_are_hidden_in_what_iceberg_says() -> None:
    options = WAREHOUSE | {
        "catalog.type": "rest",
        "catalog.uri": "http://catalog",
        "catalog.credential": "name:very-hidden",
        "catalog.token": "t-o-k-e-n",
        "catalog.jdbc.password": "p-a-s-s",
    }
    iceberg_options = IcebergOptions.of(options)
    hidden_text = iceberg_options.safe(
        "refused name:very-hidden, t-o-k-e-n and p-a-s-s at http://u:pwd1@host"
    )
    for secret in ("very-hidden", "t-o-k-e-n", "p-a-s-s", "pwd1"):
        assert secret not in hidden_text
        assert secret not in repr(iceberg_options)
    assert "refused" in hidden_text
