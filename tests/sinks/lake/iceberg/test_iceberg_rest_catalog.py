"""Tables of a REST catalog, whose server is Iceberg's own code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.catalog import IcebergCatalog
from headrace.sinks.iceberg.format import FORMAT
from headrace.sinks.replicas.lake import Lake
from tests.sinks.lake.iceberg.replica import KeptTable
from tests.sinks.lake.iceberg.rest_catalog import RestCatalog
from tests.sinks.lake.iceberg.rows import EVERY_TYPE, NAME, by_pyiceberg, row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOKEN = "a-token-that-nobody-may-see"


@pytest.fixture
def server(lake: Lake) -> Iterator[RestCatalog]:
    assert isinstance(lake, IcebergCatalog)
    served = RestCatalog(lake._java, lake._catalog, TOKEN)
    yield served
    served.close()


@pytest.fixture
def rest(server: RestCatalog, spark: SparkSession) -> Iterator[Lake]:
    opened = FORMAT.open(
        spark,
        {"catalog.type": "rest", "catalog.uri": server.uri, "catalog.token": TOKEN},
    )
    yield opened
    opened.close()


def test_a_rest_catalog_keeps_a_table(rest: Lake, lake: Lake, tmp_path: Path) -> None:
    assert rest.table(NAME) is None
    kept_table = KeptTable(rest.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(number) for number in range(5)])
    kept_table.apply([row(2, small=1)], [3])
    assert by_pyiceberg(tmp_path) == kept_table.expected()
    error = kept_table.conflict(lake, [row(4, small=1)])
    assert (error.code, error.retriable) == ("replicas.conflict", True)
    kept_table.apply([row(4, small=1)])
    assert by_pyiceberg(tmp_path) == kept_table.expected()


def test_a_catalog_that_fails_can_be_asked_again(
    rest: Lake, server: RestCatalog, tmp_path: Path
) -> None:
    kept_table = KeptTable(rest.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1)])
    server.refuse = 500
    with pytest.raises(HeadraceError) as raised:
        kept_table.apply([row(2)])
    assert (raised.value.code, raised.value.retriable) == ("replicas.not_written", True)
    assert "shop.items: could not commit" in raised.value.message
    server.refuse = None
    kept_table.apply([row(2)])
    assert by_pyiceberg(tmp_path) == kept_table.expected()


def test_a_catalog_that_does_not_know_us_is_named_without_the_token(
    server: RestCatalog, spark: SparkSession
) -> None:
    token = "b-token-that-nobody-may-see"
    with pytest.raises(HeadraceError) as raised:
        FORMAT.open(
            spark,
            {"catalog.type": "rest", "catalog.uri": server.uri, "catalog.token": token},
        )
    assert not raised.value.retriable
    assert "NotAuthorizedException" in raised.value.message
    assert token not in str(raised.value)
