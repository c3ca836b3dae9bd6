"""The page docs/map.md says what the sources and the import contracts say."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.project.map import (
    Package,
    first_sentence,
    folder_of_tests,
    foreign,
    layers,
    packages,
    page,
    refused,
)


def test_the_page_is_current() -> None:
    assert (ROOT / "docs/map.md").read_text() == page(), "run make docs"


def test_every_package_has_one_sentence() -> None:
    assert len(packages()) > 100
    sentence = re.compile(r"[A-Z`].{10,240}\.")
    assert [each.name for each in packages() if not sentence.fullmatch(each.summary)] == []


@pytest.mark.parametrize(
    ("docstring", "sentence"),
    [
        ("Rows. Knows no database.", "Rows."),
        ("What `a.b` is\nand has; 2. of three.\n\nMore.", "What `a.b` is and has; 2. of three."),
        ("", ""),
    ],
)
def test_a_sentence_ends_where_the_next_begins(docstring: str, sentence: str) -> None:
    assert first_sentence(docstring) == sentence


def test_the_layers_are_packages_in_order() -> None:
    names = [name for layer in layers() for name in layer.names]
    assert names[0] == "headrace.cli"
    assert names[-1] == "headrace.errors"
    for name in names:
        importlib.import_module(name)
    together = {layer.names for layer in layers() if not layer.separate and len(layer.names) > 1}
    assert ("headrace.streaming", "headrace.snapshots") in together


def test_a_package_has_what_contracts_say_of_it_and_of_its_modules() -> None:
    assert refused("headrace.streaming.changes.kernels") == [
        "`converters`, `transforms`, `documents`"
    ]
    assert refused("headrace.sinks.file") == [
        "`sinks/console`, `sinks/delta`, `sinks/event_log`, `sinks/iceberg`, `sinks/kafka`",
        "`merge`: `documents`",
    ]
    assert refused("headrace.transforms") == ["`pyspark` (except in `__init__`)"]
    assert refused("headrace.spark.jvm") == []
    assert dict(foreign())["confluent_kafka"] == ["headrace.kafka.client"]


def test_each_driver_is_imported_where_the_page_says() -> None:
    """By an `import` statement."""
    for driver, allowed in foreign():
        statement = re.compile(rf"^\s*(?:from {driver}[\s.]|import {driver}\b)", re.M)
        source = ROOT / "src"
        importing = {
            ".".join(file.relative_to(source).with_suffix("").parts)
            for file in (source / "headrace").rglob("*.py")
            if statement.search(file.read_text())
        }
        beginnings = tuple(each.removesuffix(".**") for each in allowed)
        assert [name for name in importing if not name.startswith(beginnings)] == [], driver


def test_tests_are_in_the_same_folder_or_where_the_package_is_imported() -> None:
    def folder(name: str) -> str:
        return folder_of_tests(next(each for each in packages() if each.name == name))

    assert folder("headrace.spark.monitoring") == "spark/monitoring"
    assert folder("headrace.sinks.delta") == "sinks/lake/delta"
    assert folder_of_tests(Package("headrace.spool.nowhere", "", "")) == "spool"
    for package in packages():
        assert Path(ROOT / "tests" / folder_of_tests(package)).is_dir()
