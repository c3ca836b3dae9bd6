"""`table`, `fold` and `signal` take the configuration of the source as `options` does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.connectors import registry
from headrace.errors import HeadraceError
from headrace.spark.query.format_options import is_configuration
from headrace.spark.tables import fold, table

GIVEN = {
    "connector.class": "postgresql",
    "topic.prefix": "shop",
    "database.hostname": "localhost",
    "database.user": "cdc",
    "database.dbname": "shop",
    "unavailable.value.placeholder": "gone",
}
TEXT = "".join(f"debezium.source.{name}={value}\n" for name, value in GIVEN.items())
CALLS: list[tuple[Any, Callable[[Any], object]]] = [
    (table, lambda properties: headrace.table(None, "inventory.orders", properties)),  # type: ignore[arg-type]
    (fold, lambda properties: headrace.fold(None, properties)),  # type: ignore[arg-type]
    (registry, lambda properties: headrace.signal(properties, "log")),
]


@pytest.mark.parametrize(("module", "call"), CALLS, ids=["table", "fold", "signal"])
def test_each_form_of_a_configuration_is_the_same(
    module: Any, call: Callable[[Any], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "application.properties"
    file.write_text(TEXT + "spark.executor.cores=2\n")
    expected = registry.parse_configuration(GIVEN)
    read: list[object] = []

    class Read(Exception):
        pass

    def parse(properties: Any, parse: Any = registry.parse_configuration) -> None:
        read.append(parse(properties))
        raise Read

    monkeypatch.setattr(module, "parse_configuration", parse)
    forms = [GIVEN, {"name": "n", "config": GIVEN}, file, str(file), TEXT, headrace.options(GIVEN)]
    for form in forms:
        with pytest.raises(Read):
            call(form)
    assert len(read) == len(forms)
    for config in read:
        assert config.redacted().items() >= expected.redacted().items()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("module", "call"), CALLS, ids=["table", "fold", "signal"])
@pytest.mark.parametrize(
    ("wrong", "codes"),
    [
        (Path("missing.properties"), {"config.unreadable_file"}),
        ("missing.properties", {"config.unreadable_file"}),
        ("folder/missing", {"config.unreadable_file"}),
        (5, {"config.invalid", "spark.schema_not_understood"}),
        (["id INT"], {"config.invalid", "spark.schema_not_understood"}),
    ],
)
def test_anything_else_is_an_error_at_once(
    module: Any, call: Callable[[Any], object], wrong: object, codes: set[str]
) -> None:
    with pytest.raises(HeadraceError) as raised:
        call(wrong)
    assert raised.value.code in codes


def test_the_columns_of_a_table_are_no_configuration() -> None:
    for columns in (
        "id INT",
        "id INT, total DECIMAL(10,2)",
        "`a/b` INT",
        "VARIANT",
        "",
        "id INT\n",
        ", ".join(f"a_long_name_{number} DECIMAL(10,2)" for number in range(200)),
    ):
        assert not is_configuration(columns)


def test_the_placeholder_of_a_fold_is_that_of_its_source() -> None:
    assert fold._placeholder(GIVEN) == "gone"
    mongodb = {"connector.class": "mongodb", "topic.prefix": "p",
               "mongodb.connection.string": "mongodb://h:27017/?replicaSet=rs0"}  # fmt: skip
    assert fold._placeholder(mongodb) == "__debezium_unavailable_value"
