"""`headrace resync` asks for nothing that its signal could not bring."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.sinks.replicas.options import RESYNC
from tests.servers.postgresql import Database

CONFIGURATION = """
connector.class=postgresql
topic.prefix=shop
database.hostname=localhost
database.user=u
database.dbname=d
headrace.sink.type=iceberg
headrace.sink.mode=replica
headrace.sink.warehouse=lake
"""


def test_a_signal_that_is_refused_leaves_the_table_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, state = tmp_path / "shop.properties", tmp_path / "state"
    file.write_text(CONFIGURATION + "signal.enabled.channels=source\n")
    (state / "iceberg").mkdir(parents=True)
    assert main(["resync", str(file), "inventory.orders", "--checkpoint", str(state)]) == 1
    assert "signal.data.collection" in capsys.readouterr().err
    assert not (state / "iceberg" / RESYNC).exists()


def requests(state: Path) -> dict[str, list[str]]:
    """The tables of the source by the replicas that are about to be copied again."""
    files = (state / "iceberg" / RESYNC).glob("*.json")
    known = [json.loads(path.read_text()) for path in files]
    assert {each["stage"] for each in known} <= {"requested"}
    return {".".join([*each["namespace"], each["name"]]): each["tables"] for each in known}


@pytest.fixture
def pipeline(database: Database, tmp_path: Path) -> tuple[Path, Path]:
    """The file and the state folder of a query into tables with a prefix."""
    database.execute("CREATE SCHEMA inventory")
    for table in ("orders", '"Items"', "parts_1", "parts_2", "left_out"):
        database.execute(f"CREATE TABLE inventory.{table} (id int PRIMARY KEY, v text)")
    file, state = tmp_path / "shop.properties", tmp_path / "state"
    properties = database.properties() | {
        "table.exclude.list": "inventory.left_out",
        "headrace.sink.type": "iceberg",
        "headrace.sink.mode": "replica",
        "headrace.sink.warehouse": str(tmp_path / "lake"),
        "headrace.sink.prefix": "copy_of_",
        "signal.enabled.channels": "file",
        "signal.file": str(tmp_path / "signals"),
        "read.only": "true",
        "transforms": "one",
        "transforms.one.type": "io.debezium.transforms.ByLogicalTableRouter",
        "transforms.one.topic.regex": "(.*)parts_.*",
        "transforms.one.topic.replacement": "$1parts",
        "transforms.one.key.enforce.uniqueness": "false",
    }
    lines = [f"{name}={text}".replace("\\", "\\\\") for name, text in properties.items()]
    file.write_text("\n".join(lines))
    (state / "iceberg").mkdir(parents=True)
    return file, state


PARTS = ["inventory.parts_1", "inventory.parts_2"]


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("table", "asked"),
    [
        ("inventory.orders", {"inventory.copy_of_orders": ["inventory.orders"]}),
        ("INVENTORY.Orders", {"inventory.copy_of_orders": ["inventory.orders"]}),
        ('"inventory"."Items"', {"inventory.copy_of_Items": ["inventory.Items"]}),
        (r"inventory\.parts_.*", {"inventory.copy_of_parts": PARTS}),
        (
            r"inventory\.[io].*",
            {
                "inventory.copy_of_orders": ["inventory.orders"],
                "inventory.copy_of_Items": ["inventory.Items"],
            },
        ),
    ],
)
def test_a_request_is_there_for_each_table_when_the_signal_is_sent(
    pipeline: tuple[Path, Path], table: str, asked: dict[str, list[str]]
) -> None:
    file, state = pipeline
    assert main(["resync", str(file), table, "--checkpoint", str(state)]) == 0
    assert requests(state) == asked
    assert "execute-snapshot" in file.with_name("signals").read_text()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("inventory.order", "signals.no_collection"),
        ("inventory.left_out", "signals.not_captured"),
        ("inventory.parts_1", "replicas.copy_of_a_part"),
    ],
)
def test_a_table_that_cannot_be_copied_again_gets_no_signal(
    pipeline: tuple[Path, Path], capsys: pytest.CaptureFixture[str], table: str, said: str
) -> None:
    file, state = pipeline
    assert main(["resync", str(file), table, "--checkpoint", str(state)]) == 1
    assert said in capsys.readouterr().err
    assert not requests(state)
    assert not file.with_name("signals").exists()


@pytest.mark.postgres
def test_a_folder_that_no_query_has_is_not_made(
    pipeline: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file, state = pipeline
    mistyped = state.with_name("stat")
    assert main(["resync", str(file), "inventory.orders", "--checkpoint", str(mistyped)]) == 1
    assert "cli.no_checkpoint" in capsys.readouterr().err
    assert not mistyped.exists()


def test_without_its_database_nothing_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, state, signals = (tmp_path / name for name in ("shop.properties", "state", "signals"))
    channel = f"signal.enabled.channels=file\nsignal.file={signals}\nread.only=true\n"
    file.write_text(CONFIGURATION + channel + "database.port=1\n")
    (state / "iceberg").mkdir(parents=True)
    assert main(["resync", str(file), "inventory.orders", "--checkpoint", str(state)]) == 1
    assert "postgresql." in capsys.readouterr().err
    assert not requests(state)
    assert not signals.exists()
