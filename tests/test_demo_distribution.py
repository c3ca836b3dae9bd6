"""The stand-ins for Oracle and Db2 are one distribution, which headrace's extras name."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace.connectors.definition import NamedDefinition
from headrace.errors import HeadraceError
from headrace.offsets.offset import OffsetObject
from release.components import metadata_of
from tests.installation import (
    DEMO,
    ROOT,
    Installation,
    build_sdist,
    build_wheel,
    copied_sources,
    files_of,
)

OPEN = """
from headrace.connectors.registry import find_definition
from headrace.errors import HeadraceError
from headrace.offsets.offset import OffsetObject
try:
    with find_definition("oracle").demo.open(None) as database:
        print(len(database.rows("CUSTOMERS")) > 0)
except HeadraceError as error:
    print(error.code, error.remedy)
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel of each distribution, built from its sdist."""
    folder = tmp_path_factory.mktemp("wheels")
    for name, checkout in (("headrace", ROOT), ("demo", DEMO)):
        built = tmp_path_factory.mktemp(name)
        sdist = build_sdist(copied_sources(built, checkout), built)
        shutil.move(build_wheel(sdist, built), folder)
    return folder


def wheel_of(name: str, wheels: Path) -> Path:
    (wheel,) = wheels.glob(f"{name}-[0-9]*.whl")
    return wheel


def test_the_wheel_of_the_demo_holds_every_source_of_it_and_headraces_none(wheels: Path) -> None:
    sources = {
        str(path.relative_to(DEMO / "src"))
        for path in (DEMO / "src" / "headrace_demo").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files_of(wheel_of("headrace_demo", wheels)) == sources
    assert not {name for name in files_of(wheel_of("headrace", wheels)) if "headrace_demo" in name}


def test_both_have_the_version_of_the_package_and_one_licence(wheels: Path) -> None:
    product, demo = (metadata_of(wheel_of(name, wheels)) for name in ("headrace", "headrace_demo"))
    assert product["Version"] == demo["Version"] == headrace.__version__
    assert demo.get_all("Requires-Dist") == [f"headrace=={headrace.__version__}"]
    assert (ROOT / "LICENSE").read_text() == (DEMO / "LICENSE").read_text()


def test_the_version_is_in_one_file_only() -> None:
    files = [ROOT / "pyproject.toml", *DEMO.glob("*.*"), *(ROOT / "src").rglob("*.py")]
    naming = [file for file in files if f'"{headrace.__version__}"' in file.read_text()]
    assert naming == [ROOT / "src/headrace/version.py"]


def test_pip_finds_the_stand_in_in_a_folder_of_wheels_and_the_demo_opens(
    wheels: Path, tmp_path: Path
) -> None:
    installation = Installation(tmp_path, wheel_of("headrace", wheels))
    before = installation.run("python", "-c", OPEN)
    assert "connectors.demo_not_installed" in before.stdout, before.stderr
    assert "headrace[demo-oracle]" in before.stdout
    installation.add("demo-oracle", wheels)
    after = installation.run("python", "-c", OPEN)
    assert after.stdout == "True\n", after.stderr


def test_importing_the_product_loads_no_stand_in() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import sys, headrace.cli.demo; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "headrace.cli.demo" in run.stdout.split()
    assert "headrace_demo" not in run.stdout.split()


def test_a_demo_whose_package_is_missing_is_named_with_what_to_install() -> None:
    class Definition(NamedDefinition):
        name = "mydatabase"
        demo_class = "package_that_is_not_there.shop:ShopDemo"

        def caught_up(self, latest: OffsetObject, end: OffsetObject) -> bool:
            raise AssertionError

    with pytest.raises(HeadraceError, match="mydatabase") as raised:
        Definition().demo  # noqa: B018
    assert raised.value.code == "connectors.demo_not_installed"
    assert "headrace[demo-mydatabase]" in (raised.value.remedy or "")
