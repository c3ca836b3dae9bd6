"""All errors of a configuration are reported at once, whatever reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headrace
from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.transforms import apply, apply_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECTOR = {
    "connector.class": "postgresql",
    "topic.prefix": "t",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
    "slot.name": "s",
    "transforms": "lost,route,unwrap,mask",
    "transforms.route.type": "RegexRouter",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.mask.type": "MaskField$Value",
    "transforms.mask.fields": "card",
    "predicates": "named",
    "predicates.named.type": "HasHeaderKey",
    "value.converter": "avro",
    "value.converter.schema.registry.url": "http://nobody:8081",
}
WRONG = {
    "transforms.lost.type": "Nowhere",
    "transforms.route.regex": "(",
    "transforms.route.replacement": None,
    "transforms.route.predicate": "nobody",
    "transforms.unwrap.delete.tombstone.handling.mode": "burn",
    "transforms.mask.replacement": "",
    "predicates.named.name": None,
    "value.converter.use.schema.id": "first",
    "header.converter": "xml",
    "errors.tolerance": "some",
}
"""Ten properties with what they are; None: they are missing."""
GIVEN = CONNECTOR | {name: text for name, text in WRONG.items() if text is not None}


def raised(read: Callable[[], object]) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        read()
    return caught.value


def _named(error: HeadraceError) -> list[str]:
    """The first of the properties that each part names."""
    names = "|".join(map(re.escape, sorted(WRONG, key=len, reverse=True)))
    firsts = [re.search(names, part.message) for part in error.parts]
    return sorted(first[0] if first else "" for first in firsts)


@pytest.mark.parametrize("verb", ["check", "run", "transform"])
def test_a_command_reports_all_ten(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.properties"
    file.write_text("\n".join(f"{name}={text}" for name, text in GIVEN.items()))
    assert main([verb, str(file)]) == 1
    printed = capsys.readouterr().err
    assert printed.count("error: ") == len(WRONG)
    assert [name for name in WRONG if name not in printed] == []


def test_options_and_a_chain_report_all_ten() -> None:
    for read in (lambda: headrace.options(GIVEN), lambda: apply_json(GIVEN, [])):
        assert _named(raised(read)) == sorted(WRONG)


@pytest.mark.spark
def test_a_dataframes_transforms_report_all_ten(spark: SparkSession) -> None:
    records = spark.createDataFrame([(b"k", b"v")], "key binary, value binary")
    assert _named(raised(lambda: apply(records, GIVEN))) == sorted(WRONG)


def test_each_of_the_ten_is_reported_by_itself_too() -> None:
    for name, text in WRONG.items():
        right = CONNECTOR | {
            "transforms": "unwrap" if name != "transforms.lost.type" else "lost",
            "transforms.route.regex": "a",
            "transforms.route.replacement": "b",
            "predicates.named.name": "h",
        }
        alias = name.split(".")[1]
        if name.startswith("transforms."):
            right["transforms"] = alias
        changed_options = right | ({} if text is None else {name: text})
        if text is None:
            del changed_options[name]
        assert (
            name
            in raised(
                lambda changed_options=changed_options: headrace.options(changed_options)
            ).message
        )
