"""The command without anything, and the descriptions of properties."""

from __future__ import annotations

import pytest

from headrace.cli import main


def test_the_command_alone_shows_its_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: headrace")
    assert "describe" in shown


def test_one_property_is_described_wherever_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "snapshot.mode", "slot.name"]) == 0
    shown = capsys.readouterr().out
    assert "snapshot.mode  = initial" in shown
    assert "(postgresql, mongodb)" in shown
    assert "slot.name  = debezium" in shown
    assert "topic.prefix" not in shown


def test_properties_of_one_connector_and_of_families_are_described(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["describe", "postgresql", "column.mask.with.5.chars"]) == 0
    assert "column.mask.with.LENGTH.chars" in capsys.readouterr().out


def test_properties_are_found_by_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "--grep", "tombstone"]) == 0
    shown = capsys.readouterr().out
    assert "tombstones.on.delete" in shown
    assert "slot.name" not in shown


def test_a_property_that_is_none_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "snapsht.mode"]) == 1
    assert "did you mean snapshot.mode?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("connector", "words"),
    [
        ("mysql", "Debezium has a connector for mysql, and headrace has none"),
        ("io.debezium.connector.mysql.MySqlConnector", "Debezium has a connector for mysql"),
        ("mongdb", "did you mean mongodb?"),
        ("something", "is not a connector that is installed"),
    ],
)
def test_a_connector_that_is_not_there_is_told_from_a_mistake(
    connector: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["describe", connector]) == 1
    assert words in capsys.readouterr().err
