"""A Spark session in an empty folder, as a reader of the pages has it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.spark.jvm.gateway import DriverJvm
from headrace.spark.session import build_session
from tests.docs.pages import Block, block
from tests.docs.shop import Shop, shop
from tests.docs.terminal import Terminal
from tests.resident.resident import Resident
from tests.servers.postgresql import await_free_slot
from tests.spark.worker_session import WorkerSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = "docs/guides/first-steps.md"
SLOT = "debezium"


@dataclass
class Reader:
    """A reader that follows a page in Python: `names` are those of the code so far."""

    shop: Shop
    terminal: Terminal
    names: dict[str, Any]

    def follow(self, code: Block) -> None:
        """Runs a block of Python after those before."""
        exec(compile(self.terminal.text(code), str(code), "exec"), self.names)

    def configure(self, more: str = "") -> None:
        """Writes the file of the first steps; `more` lines follow it."""
        self.terminal.write("application.properties", block(FIRST, "connector.class"), more)


@pytest.fixture(scope="module")
def shop_of_pages() -> Iterator[Shop]:
    """The database, prepared as the first steps say."""
    with shop() as created:
        created.run(block(FIRST, "CREATE ROLE"))
        yield created


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current folder, with the password in the environment: both count for Spark, too."""
    folder, former = tmp_path_factory.mktemp("place"), Path.cwd()
    os.chdir(folder)
    os.environ["CDC_PASSWORD"] = "secret"
    yield folder
    del os.environ["CDC_PASSWORD"]
    os.chdir(former)


@pytest.fixture(scope="module")
def spark(place: Path, worker_session: WorkerSession) -> Iterator[SparkSession]:
    worker_session.close()  # a page's has its folder and its environment
    jvm = DriverJvm(lambda line: print(line, file=sys.stderr))
    session = build_session("pages", master="local[2]", jvm=jvm)
    yield session
    session.stop()
    jvm.close()


@pytest.fixture
def reader(
    shop_of_pages: Shop, place: Path, spark: SparkSession, resident: Resident
) -> Iterator[Reader]:
    """One whose slot is dropped in the end."""
    terminal = Terminal(place, shop_of_pages.substitutes, resident)
    page_reader = Reader(shop_of_pages, terminal, {"spark": spark})
    page_reader.configure()
    yield page_reader
    for query in spark.streams.active:
        query.stop()
    for slot in page_reader.shop.slots() & {SLOT}:
        await_free_slot(page_reader.shop.server, slot)
        page_reader.shop.execute(f"SELECT pg_drop_replication_slot('{slot}')")
