"""Connectors are found by their definitions, those of other packages by entry points."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest

from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors import registry
from headrace.connectors.definition import GROUP, NamedDefinition
from headrace.errors import HeadraceError
from headrace.signals.signal import Signal

ROOT = Path(__file__).parents[2]

DEFINITION = """
from headrace.connectors.definition import ConnectorDefinition, Driver

class Definition(ConnectorDefinition):
    name = "journal"
    classes = ("org.example.JournalConnector",)
    driver = Driver("a_driver_that_is_not_installed", "headrace-journal[driver]")
    kernels = {"a_driver_that_is_not_installed.kernels": ("read",)}
    worker_modules = ("a_driver_that_is_not_installed.slices",)
    verbs = {"rewind": "journal_rewind"}

    def configuration(self):
        from headrace.config.properties.connector import ConnectorConfig
        return ConnectorConfig

    def open(self, config, **_):
        raise AssertionError

    def caught_up(self, latest, end):
        return True

DEFINITION = Definition()
"""
VERB = '''
"""Read the journal again."""

def add_arguments(parser):
    parser.add_argument("times")

def run(arguments):
    print("rewound", arguments.times)
    return 0
'''


@pytest.fixture
def other_package(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH with a connector that another package brings."""
    (tmp_path / "journal_definition.py").write_text(DEFINITION)
    (tmp_path / "journal_rewind.py").write_text(VERB)
    information = tmp_path / "headrace_journal-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: headrace-journal\n")
    (information / "entry_points.txt").write_text(
        f"[{GROUP}]\njournal = journal_definition:DEFINITION\nwrong = no_such_module:DEFINITION\n"
    )
    return tmp_path


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )


PARSE = """
import headrace.connectors.registry as registry
config = registry.parse_configuration(
    {"connector.class": "org.example.journalconnector", "topic.prefix": "p"})
print(config.connector_class, [one.name for one in registry.definitions()])
try:
    registry.open_connector(config, cores=1, inline=False, orphaned=bool)
except registry.HeadraceError as error:
    print(error)
"""


def test_a_connector_of_another_package_is_found(other_package: Path) -> None:
    run = python(other_package, "-c", PARSE)
    assert run.stdout.splitlines() == [
        "journal ['postgresql', 'mongodb', 'db2', 'oracle', 'journal']",
        "The journal connector needs the package a_driver_that_is_not_installed, which is not "
        "installed [connectors.no_driver]. pip install 'headrace-journal[driver]'",
    ], run.stderr
    assert (
        "The connector wrong (no_such_module:DEFINITION) of the package headrace-journal is left"
        in run.stderr
    )


def test_its_properties_and_its_verbs_are_on_the_command_line(other_package: Path) -> None:
    assert (
        "topic.prefix" in python(other_package, "-m", "headrace.cli", "describe", "journal").stdout
    )
    assert "Read the journal again." in python(other_package, "-m", "headrace.cli", "--help").stdout
    assert python(other_package, "-m", "headrace.cli", "rewind", "2").stdout == "rewound 2\n"


def test_a_connector_without_its_driver_does_not_hold_up_the_others(other_package: Path) -> None:
    script = (
        "from headrace.spark.kernels.needed import all_kernels; print(*all_kernels());"
        "from importlib import import_module; [import_module(name) for name in all_kernels()]"
    )
    run = python(other_package, "-c", script)
    assert run.returncode == 0, run.stderr
    assert "a_driver_that_is_not_installed" not in run.stdout


FAULTY = """
from journal_definition import Definition

NUMBER, CLASS = 7, Definition
MODE = int("no number")
"""
BROKEN = """
from journal_definition import Definition

class Unnamed(Definition):
    name = None

class Torn(Definition):
    @property
    def classes(self):
        raise RuntimeError("torn")

class Other(Definition):
    name, classes, verbs, driver, kernels, worker_modules = "Other", (), {}, None, {}, ()

class Second(Other):
    name, classes = "other", ()

class Claimant(Other):
    name, classes = "claimant", ("IO.Debezium.connector.postgresql.PostgresConnector",)

class Breaking(Other):
    name = "breaking"
    kernels = {
        "headrace.streaming.kernels.count_kernel": ("no_such_kernel",),
        "no_such_module": ("read",),
    }
    worker_modules = ("no_such_module",)
    verbs = {"run": "journal_rewind", "half": "journal_half", "away": "no_such_module"}

UNNAMED, TORN, OTHER, SECOND = Unnamed(), Torn(), Other(), Second()
CLAIMANT, BREAKING = Claimant(), Breaking()
"""


@pytest.fixture
def faulty_package(other_package: Path) -> Path:
    """Another one beside it, with entry points of which most are wrong."""
    (other_package / "faulty.py").write_text(FAULTY)
    (other_package / "broken.py").write_text(BROKEN)
    (other_package / "journal_half.py").write_text('"""100% of it."""')
    information = other_package / "headrace_faulty-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: headrace-faulty\n")
    lines = [
        f"{name.lower()} = broken:{name}"
        for name in ("UNNAMED", "TORN", "OTHER", "SECOND", "CLAIMANT", "BREAKING")
    ]
    lines += [
        "raising = faulty:NUMBER",
        "number = math:pi",
        "instance = journal_definition:Definition",
    ]
    (information / "entry_points.txt").write_text(f"[{GROUP}]\n" + "\n".join(lines) + "\n")
    return other_package


def test_definitions_that_are_wrong_are_left_out_and_named(faulty_package: Path) -> None:
    script = (
        "from headrace.connectors.registry import definitions, find_definition;"
        "print(*(one.name for one in definitions()));"
        "print(find_definition('OTHER').name);"
        "print(find_definition('io.debezium.connector.postgresql.PostgresConnector').name);"
        "find_definition('none')"
    )
    run = python(faulty_package, "-c", script)
    assert run.stdout.splitlines() == [
        "postgresql mongodb db2 oracle breaking claimant journal Other",
        "Other",
        "postgresql",
    ], run.stderr
    assert "breaking, claimant (IO.Debezium" in run.stderr.splitlines()[-1], run.stderr
    for line in (
        "raising (faulty:NUMBER) of the package headrace-faulty is left out: ValueError: invalid",
        "number (math:pi) of the package headrace-faulty is left out: 3.14",
        "instance (journal_definition:Definition) of the package headrace-faulty is left out: "
        "Definition is a class",
        "unnamed (broken:UNNAMED) of the package headrace-faulty is left out: its name is None",
        "torn (broken:TORN) of the package headrace-faulty is left out: RuntimeError: torn",
        "second (broken:SECOND) of the package headrace-faulty is left out: the connector Other "
        "has that name",
        "claimant (broken:CLAIMANT) of the package headrace-faulty is not chosen by "
        "connector.class=io.debezium.connector.postgresql.postgresconnector",
    ):
        assert f"The connector {line}" in run.stderr


def test_they_hold_up_no_verb_and_replace_none(faulty_package: Path) -> None:
    described = python(faulty_package, "-m", "headrace.cli", "describe", "postgresql")
    assert "slot.name" in described.stdout, described.stderr
    helped = python(faulty_package, "-m", "headrace.cli", "--help")
    assert helped.returncode == 0, helped.stderr
    assert "Read the journal again." in helped.stdout
    for verb, why in (
        ("run", "there is a verb of that name"),
        ("half", "has no attribute 'run'"),
        ("away", "No module named 'no_such_module'"),
    ):
        assert f"The verb {verb} of the connector breaking cannot be used: " in helped.stderr
        assert why in helped.stderr


def test_they_hold_up_no_worker(faulty_package: Path) -> None:
    script = (
        "from headrace.spark import daemon; from headrace.spark.kernels import compiled, needed;"
        "kernels, counts = needed.all_kernels(), 'headrace.streaming.kernels.count_kernel';"
        "compiled.load_kernel(counts, kernels[counts][-1]);"
        "compiled.load_kernel('no_such_module', *kernels['no_such_module']);"
        "daemon.preload(); import sys;"
        "print('headrace.connectors.postgresql.reading.snapshot_reader' in sys.modules)"
    )
    run = python(faulty_package, "-c", script)
    assert run.stdout == "True\n", run.stderr
    for part in (
        "The kernel headrace.streaming.kernels.count_kernel.no_such_kernel",
        "The kernel no_such_module.read",
        "The module no_such_module",
    ):
        assert f"{part} of the connector breaking cannot be used: " in run.stderr


def test_entry_points_name_what_a_source_tree_brings() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"][GROUP] == registry._BUILT_IN


def test_each_definition_has_the_name_of_its_entry_point() -> None:
    for name in registry._BUILT_IN:
        definition = registry.find_definition(name)
        assert definition.name == name
        assert definition.configuration().__name__.endswith("Config")
        for other in definition.classes:
            assert registry.find_definition(other.upper()) is definition


@pytest.mark.parametrize("name", registry._BUILT_IN)
def test_every_part_that_a_definition_names_is_there(name: str) -> None:
    definition = registry.find_definition(name)
    assert isinstance(definition, NamedDefinition)
    assert issubclass(definition.configuration(), ConnectorConfig)
    assert callable(resolve_name(definition.open_function))
    for part in (definition.check_function, definition.signal_function):
        assert not part or callable(resolve_name(part)), part
    if definition.demo_class:
        assert definition.demo is not None


def test_parts_that_a_definition_does_not_name_are_left_out() -> None:
    class Bare(NamedDefinition):
        name = "bare"
        configuration_class = "headrace.config.properties.connector:ConnectorConfig"
        open_function = "builtins:dict"

        def caught_up(self, latest: object, end: object) -> bool:
            return latest == end

    bare, config = Bare(), ConnectorConfig.parse({"topic.prefix": "p"})
    assert bare.demo is None
    assert list(bare.check(config)) == []
    with pytest.raises(HeadraceError, match=r"connectors\.no_signal_collection"):
        bare.insert_signal(config, "signals", Signal("1", "log"))


def test_a_driver_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = registry.find_definition("postgresql")
    monkeypatch.setattr(registry.util, "find_spec", lambda _: None)
    with pytest.raises(HeadraceError) as raised:
        registry.require_driver(definition)
    assert raised.value.code == "connectors.no_driver"
    assert "headrace[postgresql]" in raised.value.remedy
