"""`headrace.options`: whatever holds the configuration, it is checked before Spark sees it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import headrace
from headrace.errors import HeadraceError, HeadraceWarning

GIVEN = {
    "connector.class": "postgresql",
    "topic.prefix": "shop",
    "database.hostname": "localhost",
    "database.user": "cdc",
    "database.dbname": "shop",
    "table.include.list": "inventory.*",
}


def packed(options: dict[str, str]) -> dict[str, str]:
    return json.loads(options["headrace.config"])


def test_a_dict_a_body_a_path_a_text_and_keywords_are_the_same(tmp_path: Path) -> None:
    text = "".join(f"debezium.source.{name}={value}\n" for name, value in GIVEN.items())
    file = tmp_path / "application.properties"
    file.write_text(text)
    body = {"config": {**GIVEN, "database.port": None}}
    keywords = {name.replace(".", "_"): value for name, value in GIVEN.items()}
    for options in (
        headrace.options(GIVEN),
        headrace.options(body),
        headrace.options(str(file)),
        headrace.options(file),
        headrace.options(text),
        headrace.options(json.dumps(body)),
        headrace.options(**keywords),
        headrace.options(**GIVEN),
    ):
        assert packed(options) == GIVEN


def test_keywords_win_and_find_names_that_have_underscores_or_capitals() -> None:
    options = headrace.options(
        {**GIVEN, "topic.prefix": "other"},
        topic_prefix="shop",
        database_tcpKeepAlive=False,
        transforms="unwrap",
        transforms_unwrap_type="io.debezium.transforms.ExtractNewRecordState",
    )
    assert packed(options) == {
        **GIVEN,
        "database.tcpKeepAlive": "false",
        "transforms": "unwrap",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    }


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    with pytest.raises(HeadraceError) as raised:
        headrace.options(
            GIVEN, **{"table.inclde.list": "x", "snapshot.mode": "initail", "database.port": "x"}
        )
    assert raised.value.code == "config.invalid"
    first, *others = (part.message for part in raised.value.parts)
    assert "database.port" in " ".join((first, *others))
    assert "did you mean initial?" in " ".join((first, *others))
    assert "did you mean table.include.list?" in " ".join((first, *others))


def test_what_is_no_configuration_is_refused_in_words() -> None:
    with pytest.raises(HeadraceError, match=r"got a list .* keyword arguments"):
        headrace.options(["x"])  # type: ignore[arg-type]
    with pytest.raises(HeadraceError, match=r"connector\.class is missing"):
        headrace.options()
    with pytest.raises(HeadraceError, match=r"no\.properties cannot be read"):
        headrace.options("no.properties")


def test_an_unknown_property_is_a_warning_an_error_or_silent_as_the_configuration_says() -> None:
    with pytest.warns(HeadraceWarning, match=r"no\.such\.thing"):
        headrace.options(GIVEN, **{"no.such.thing": "x"})
    with pytest.raises(HeadraceError, match=r"no\.such\.thing"):
        headrace.options(GIVEN, **{"no.such.thing": "x", "headrace.unknown.properties": "fail"})
    mistyped = {"table.inclde.list": "x", "headrace.unknown.properties": "warn"}
    with pytest.warns(HeadraceWarning, match=r"did you mean table\.include\.list\?"):
        headrace.options(GIVEN, **mistyped)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        headrace.options(GIVEN, **{"tasks.max": 1, "quarkus.log.level": "INFO"})


def test_a_secret_stays_a_reference_and_one_that_is_missing_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CDC_PASSWORD", "hunter2")
    properties = {**GIVEN, "database.password": "${env:CDC_PASSWORD}"}
    assert packed(headrace.options(properties)) == properties
    monkeypatch.delenv("CDC_PASSWORD")
    with pytest.raises(HeadraceError, match="CDC_PASSWORD is not set"):
        headrace.options(properties)


def test_references_are_left_to_the_server_of_spark_connect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    properties = {**GIVEN, "database.password": "${env:ONLY_ON_THE_SERVER}"}
    assert packed(headrace.options(properties)) == properties
    with pytest.raises(HeadraceError, match=r"snapshot\.mode"):
        headrace.options(properties, snapshot_mode="x")
