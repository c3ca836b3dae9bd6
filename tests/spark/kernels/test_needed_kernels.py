"""The kernels that a configuration needs: those that its modules import, and no more."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import headrace
from headrace.config.properties.modes import ConverterName
from headrace.connectors.registry import built_in, examine, parse_options
from headrace.spark.kernels.needed import (
    OF_CONVERTERS,
    SHARED,
    kernels_by_name,
    listed,
    query_kernels,
)
from headrace.spark.sinks.definition import SinkDefinition
from headrace.spark.sinks.registry import find_sink, sinks
from headrace.transforms.registry import _TRANSFORMS, find_transform
from tests.spark.kernels.calls import called_in

ROOT = Path(__file__).parents[3]
SOURCES = Path(headrace.__file__).parents[1]
DATABASE = {
    "connector.class": "postgresql",
    "topic.prefix": "t",
    "database.hostname": "h",
    "database.dbname": "d",
    "database.user": "u",
    "database.password": "p",
}
OF_TEXTS = {"headrace.documents.parsing.kernels.document_kernel"}
"""Documents are texts in DataFrames only, see `frame_kernels`."""
OF_DOCUMENTS = {name for name in SHARED if name.startswith("headrace.documents.")}


def path_of(module: str) -> Path | None:
    place = SOURCES.joinpath(*module.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.exists():
            return path
    return None


@cache
def imports(module: str, *, within_functions: bool = False) -> frozenset[str]:
    """The modules of headrace that a module imports at its top level, or anywhere."""
    path = path_of(module)
    assert path is not None
    names: set[str] = set()
    parsed = ast.parse(path.read_text())
    for node in ast.walk(parsed) if within_functions else parsed.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("headrace"):
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(name for name in names if path_of(name) is not None)


def kernels_under(*roots: str) -> set[str]:
    """The modules of the kernels that Python calls in what the roots import, near and far."""
    modules: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module not in modules:
            modules.add(module)
            waiting += imports(module)
    return {
        kernel.py_func.__module__
        for module in modules
        for kernel in called_in(import_module(module))
    }


def of_every_query() -> set[str]:
    return set(kernels_by_name(["postgresql", "json"]))


@pytest.mark.parametrize("name", [definition.name for definition in built_in()])
def test_a_connector_needs_what_its_modules_import(name: str) -> None:
    (definition,) = (each for each in built_in() if each.name == name)
    opened = getattr(definition, "open_function", "").partition(":")[0]
    imported = kernels_under(opened, *definition.worker_modules)
    missing = imported - set(kernels_by_name([name, "json"]))
    assert missing <= OF_DOCUMENTS, "documents are rendered for connectors that have them"
    if name == "mongodb":
        assert missing <= {"headrace.documents.kernels.scalars"}


@pytest.mark.parametrize("java_class", sorted(_TRANSFORMS))
def test_a_transform_declares_the_kernels_that_its_module_imports(java_class: str) -> None:
    module = "headrace.transforms." + _TRANSFORMS[java_class].partition(":")[0]
    declared = set(find_transform(java_class).kernels)
    reached = kernels_under(module) - {"headrace.connect.evaluation.gathering"}
    assert declared <= reached
    assert reached - declared <= (OF_TEXTS if ".documents." in module else set())


def test_a_query_of_postgresql_and_json_needs_no_other_kernels() -> None:
    modules = of_every_query()
    assert not modules & OF_DOCUMENTS
    assert "headrace.converters.binary.kernels.interpreter" not in modules
    assert not any(re.match(r"headrace\.connectors\.(?!postgresql)", name) for name in modules)


def test_converters_transforms_and_sinks_of_a_configuration_count() -> None:
    config = parse_options(
        {
            **DATABASE,
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "transforms": "r",
            "transforms.r.type": "io.debezium.transforms.partitions.PartitionRouting",
            "transforms.r.partition.payload.fields": "change.id",
            "transforms.r.partition.topic.num": "3",
        }
    )
    modules = set(query_kernels(config, find_sink("kafka").kernels)) - of_every_query()
    assert modules == {
        "headrace.converters.binary.kernels.interpreter",
        "headrace.kafka.message_kernel",
        "headrace.transforms.debezium.java_hashes",
    }


def test_a_converter_loads_what_it_declares_and_no_more() -> None:
    command = [sys.executable, "-m", "tests.spark.kernels.loaded"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = {name: set(modules) for name, modules in json.loads(run.stdout).items()}
    assert loaded.keys() == set(map(str, OF_CONVERTERS))
    for name, modules in loaded.items():
        assert "headrace.converters.kernels.emit" in modules, run.stderr
        assert modules & SHARED.keys() <= set(kernels_by_name(["postgresql", name])), name
    for name in (ConverterName.AVRO, ConverterName.STRING, ConverterName.SIMPLE,
                 ConverterName.VARIANT):  # fmt: skip
        assert set(OF_CONVERTERS[name]) <= loaded[name]


@pytest.mark.parametrize("sink", sinks(), ids=lambda sink: sink.name)
def test_a_sink_needs_the_kernels_that_its_folder_calls(sink: SinkDefinition) -> None:
    folder = SOURCES / "headrace" / "sinks" / sink.name.replace("-", "_")
    paths = (path.relative_to(SOURCES).with_suffix("") for path in folder.rglob("*.py"))
    modules = {".".join(path.parts).removesuffix(".__init__") for path in paths}
    modules |= {name for module in modules for name in imports(module, within_functions=True)}
    assert modules
    called = kernels_under(*modules, *sink.worker_modules) - SHARED.keys()
    assert called == sink.kernels.keys() - SHARED.keys()


@pytest.mark.parametrize(
    "options", [{}, {"mode": "replica", "promoted.keys.d.c": "a BIGINT"}], ids=str
)
@pytest.mark.parametrize("sink", sinks(), ids=lambda sink: sink.name)
def test_a_sink_declares_what_it_needs_with_some_options(
    sink: SinkDefinition, options: dict[str, str]
) -> None:
    of_sink = {f"headrace.sink.{name}": text for name, text in options.items()}
    config, _ = examine({**DATABASE, "headrace.sink.type": sink.name, **of_sink})
    assert {*listed(sink.kernels_of(config))} <= {*listed(sink.kernels)}
