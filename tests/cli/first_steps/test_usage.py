"""The command without anything, and the descriptions of properties."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from headrace.cli import main
from headrace.version import VERSION

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"


def test_the_command_alone_shows_its_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    output = capsys.readouterr().out
    assert output.startswith("usage: headrace")
    assert "describe" in output


_USES = """
import sys
from headrace.cli import _VERBS, main

of_verbs = ([verb, "--help"] for verb in (*_VERBS, "slots", "db2"))
for words in (["--version"], ["--help"], [], *of_verbs):
    try:
        main(words)
    except SystemExit as ended:
        assert not ended.code, words
    assert "numba" not in sys.modules, words
"""


def test_neither_the_version_nor_any_help_loads_compiled_code() -> None:
    completed = subprocess.run(
        [sys.executable, "-c", _USES], capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("headrace ")
    assert "usage: headrace maintain" in completed.stdout


def test_one_property_is_described_wherever_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "tombstones.on.delete", "slot.name"]) == 0
    output = capsys.readouterr().out
    assert "tombstones.on.delete  = true" in output
    assert "(postgresql, mongodb, db2, oracle)" in output
    assert "slot.name  = debezium" in output
    assert "topic.prefix" not in output


def test_properties_of_one_connector_and_of_families_are_described(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["describe", "postgresql", "column.mask.with.5.chars"]) == 0
    assert "column.mask.with.LENGTH.chars" in capsys.readouterr().out


def test_properties_are_found_by_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "--grep", "tombstone"]) == 0
    output = capsys.readouterr().out
    assert "tombstones.on.delete" in output
    assert "slot.name" not in output
    assert "(postgresql, mongodb, db2, oracle)" in output


def test_the_connectors_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe"]) == 0
    output = capsys.readouterr().out
    for connector in ("postgresql", "mongodb", "io.debezium.connector.mongodb.MongoDbConnector"):
        assert connector in output
    assert "snapshot.mode" not in output


def test_one_error_is_described_by_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "errors", "kafka.fenced", "mongodb.no_tables"]) == 0
    output = capsys.readouterr().out
    assert "kafka.fenced\n    Kafka has ended a transaction" in output
    assert "    remedy: Stop one of two runs" in output
    assert "CONNECTOR.no_tables" in output
    assert "kafka.unreachable" not in output
    assert main(["describe", "errors", "signals", "--markdown"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("## signals\n")
    assert page.count("## ") == 1


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        (["errors", "kafka.fencd"], "did you mean kafka.fenced", "describe errors kafka.fenced"),
        (["errors", "zzzzz"], "zzzzz is not the code of an error [", "lists all of them"),
        (["kafka.fenced"], "is not a property, but the code", "describe errors kafka.fenced"),
        (["filter"], "Filter is not a connector, but a transform", "describe transforms Filter"),
        (["InsertField$Key"], "InsertField is not a connector", "describe transforms InsertField"),
    ],
)
def test_what_is_documented_elsewhere_is_pointed_to(
    words: list[str], message: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["describe", *words]) == 1
    error_output = capsys.readouterr().err
    assert message in error_output
    assert remedy in error_output


def test_the_demo_names_its_databases(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["demo", "--help"])
    assert "the connector: postgresql, mongodb" in " ".join(capsys.readouterr().out.split())


def test_a_property_that_does_not_exist_gets_a_suggestion(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["describe", "snapsht.mode"]) == 1
    assert "did you mean snapshot.mode?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("connector", "words"),
    [
        ("mysql", "Debezium has a connector for mysql, and headrace has none"),
        ("io.debezium.connector.mysql.MySqlConnector", "Debezium has a connector for mysql"),
        ("io.debezium.connector.mysq.MySqlConnector", "Debezium has a connector for mysql"),
        ("io.debezium.connector.db2as400.As400RpcConnector", "has a connector for db2as400"),
        ("mongdb", "did you mean mongodb? [connectors.unknown]\nremedy: Set connector.class to m"),
        *(
            (name, f"did you mean {POSTGRES}? [connectors.unknown]\nremedy: Set connector.class to")
            for name in (
                "io.debezium.connector.postgresql.PostgresConector",
                "io.debezium.connector.postgres.PostgresConnector",
                "io.debezium.conector.postgresql.PostgresConnector",
            )
        ),
        ("something", "is not a connector that is installed"),
        ("something", "a source folder on PYTHONPATH needs the package's metadata"),
        ("io.debezium.connector.nothing.Nothing", "is not a connector that is installed ["),
    ],
)
def test_a_connector_that_does_not_exist_is_distinguished_from_a_mistake(
    connector: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["describe", connector]) == 1
    error_output = capsys.readouterr().err
    assert words in error_output
    assert "did you mean" not in error_output or "Debezium has" not in error_output


def test_the_page_of_a_transform_cuts_no_name_and_no_value(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["describe", "transforms", "ExtractNewDocumentState"]) == 0
    output = capsys.readouterr().out
    assert not re.search(r"\w…", output)
    for whole in (
        "delete.tombstone.handling.mode",
        "delete.tombstone.handling.mode.rewrite-with-id",
        "field.name.adjustment.mode",
        "flatten.struct.delimiter",
        "rewrite-with-tombstone",
    ):
        assert whole in output
    assert main(["describe", "errors"]) == 0
    assert "postgresql.replication_refused" in capsys.readouterr().out


def test_a_text_is_looked_for_in_transforms_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "transforms", "--grep", "rewrite-with-id"]) == 0
    output = capsys.readouterr().out
    assert "Options of ExtractNewDocumentState" in output
    assert "topic.format" not in output
    assert main(["describe", "errors", "--grep", "wal_level"]) == 0
    errors = capsys.readouterr().out
    assert "wal_level" in errors
    assert "kafka.fenced" not in errors
    assert main(["describe", "--grep", "rewrite-with-id"]) == 0
    assert "delete.tombstone.handling.mode" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["postgresql"], ["transforms"], ["errors"]])
def test_a_text_that_nothing_has_is_an_error(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["describe", *words, "--grep", "no such text"]) == 1
    assert (
        "Nothing contains the text 'no such text' [describe.nothing_found]"
        in capsys.readouterr().err
    )


def test_a_transform_that_does_not_exist_is_an_error_also_with_a_text_to_look_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["describe", "transforms", "DropHeaders", "--grep", "headers"]) == 0
    assert main(["describe", "transforms", "dropheaders", "--grep", "headers"]) == 1
    assert "did you mean DropHeaders? [transforms.unknown]" in capsys.readouterr().err


def test_the_package_can_be_run_as_a_module() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "headrace", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout == f"headrace {VERSION}\n"


@pytest.mark.parametrize("words", [["array.encoding"], ["transforms", "array.encoding"]])
def test_an_option_of_a_transform_is_found_by_its_name(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["describe", *words]) == 0
    output = capsys.readouterr().out
    assert "Options of ExtractNewDocumentState" in output
    assert "array.encoding  = array" in output
    assert "flatten.struct" not in output
