"""Connectors are found by their definitions, those of other packages by entry points."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from headrace.connectors import registry
from headrace.connectors.definition import GROUP
from headrace.errors import HeadraceError

ROOT = Path(__file__).parents[2]

DEFINITION = """
from headrace.connectors.definition import Driver

class Definition:
    name = "journal"
    classes = ("org.example.JournalConnector",)
    driver = Driver("a_driver_that_is_not_installed", "headrace-journal[driver]")
    kernels = {"a_driver_that_is_not_installed.kernels": ("read",)}
    worker_modules = ("a_driver_that_is_not_installed.slices",)
    verbs = {"rewind": "journal_rewind"}
    demo = None

    def configuration(self):
        from headrace.config.properties.common import ConnectorConfig
        return ConnectorConfig

    def open(self, config, **_):
        raise AssertionError

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
        "journal ['postgresql', 'journal']",
        "The journal connector needs the package a_driver_that_is_not_installed, which is not "
        "installed [connectors.no_driver]. pip install 'headrace-journal[driver]'",
    ], run.stderr
    assert "The connector wrong (no_such_module:DEFINITION) is left out" in run.stderr


def test_its_properties_and_its_verbs_are_on_the_command_line(other_package: Path) -> None:
    assert (
        "topic.prefix" in python(other_package, "-m", "headrace.cli", "describe", "journal").stdout
    )
    assert "Read the journal again." in python(other_package, "-m", "headrace.cli", "--help").stdout
    assert python(other_package, "-m", "headrace.cli", "rewind", "2").stdout == "rewound 2\n"


def test_a_connector_without_its_driver_does_not_hold_up_the_others(other_package: Path) -> None:
    script = (
        "from headrace.spark.kernels import all_kernels; print(*all_kernels());"
        "from importlib import import_module; [import_module(name) for name in all_kernels()]"
    )
    run = python(other_package, "-c", script)
    assert run.returncode == 0, run.stderr
    assert "a_driver_that_is_not_installed" not in run.stdout


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


def test_a_driver_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = registry.find_definition("postgresql")
    monkeypatch.setattr(registry.util, "find_spec", lambda _: None)
    with pytest.raises(HeadraceError) as raised:
        registry.require_driver(definition)
    assert raised.value.code == "connectors.no_driver"
    assert "headrace[postgresql]" in raised.value.remedy
