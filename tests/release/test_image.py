"""The Dockerfile: each of its instructions is executed, and the image runs headrace."""

from __future__ import annotations

import re
import shutil
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

import headrace
from tests.installation import ROOT, linked_requirements
from tests.release.images import Image, can_build, instructions, is_ignored

DOCKERFILE = (ROOT / "Dockerfile").read_text()
ARGUMENTS = {"EXTRAS": "postgresql,java", "COMPILE": "postgresql json file"}
"""Arguments of the build that make it take less time."""


def link(needed: Distribution, target: Path) -> None:
    """Install a distribution in `target` by links, in place of the one that venv brings."""
    for former in target.glob(f"{needed.name}-*.dist-info"):
        shutil.rmtree(former)
    for name in {file.parts[0] for file in needed.files or ()} - {"..", "__pycache__"}:
        if (target / name).is_dir() and not (target / name).is_symlink():
            shutil.rmtree(target / name)
        if not (target / name).exists():
            (target / name).symlink_to(str(needed.locate_file(name)))


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The image, of which each instruction was executed."""
    folder = tmp_path_factory.mktemp("image")
    if not can_build(folder / "trial"):
        pytest.skip("layers of file systems can be mounted by root on Linux only")
    packages = Path(str(distribution("pyspark").locate_file("")))
    image = Image(folder, ROOT, ARGUMENTS, packages)
    for name, arguments in instructions(DOCKERFILE):
        image.execute(name, arguments)
        if "-m venv" in arguments:  # pip finds there what an index would give it
            (target,) = image.last.upper.glob("opt/headrace/lib/python*/site-packages")
            extras = frozenset(ARGUMENTS["EXTRAS"].split(","))
            for needed in [*linked_requirements(extras), distribution("setuptools")]:
                link(needed, target)
    return image


@pytest.mark.chaos
def test_it_runs_headrace_as_a_user_who_is_not_root(image: Image) -> None:
    stage = image.last
    completed = image.run(*stage.entry, *stage.command)
    assert completed.stdout.startswith("usage: headrace"), completed.stderr
    assert image.run(*stage.entry, "--version").stdout == f"headrace {headrace.__version__}\n"
    assert image.run("id", "-u").stdout == "10001\n"
    assert image.run("touch", "/state/x").returncode == 0
    assert image.run("touch", "/opt/headrace/x").returncode != 0


@pytest.mark.chaos
def test_its_kernels_are_compiled_for_the_processor_of_the_build(image: Image) -> None:
    kernels = [*image.last.upper.glob("var/cache/headrace/kernels/*/**/*.nbc")]
    assert len(kernels) > 10
    again = image.run("headrace", "compile", *ARGUMENTS["COMPILE"].split())
    assert again.returncode == 0, again.stderr
    assert [*image.last.upper.glob("var/cache/headrace/kernels/*/**/*.nbc")] == kernels
    assert image.run("sh", "-c", "echo $NUMBA_CPU_NAME").stdout == "x86-64-v3\n"


@pytest.mark.chaos
def test_it_has_neither_the_sources_nor_a_server(image: Image) -> None:
    names = {path.name for path in image.last.upper.rglob("*")}
    assert not {"mongod", "mongos", "pyproject.toml", "constraints.txt"} & names
    packages = image.run("headrace", "describe", "postgresql")
    assert "slot.name" in packages.stdout


def test_the_extras_of_the_image_exist_and_bring_no_demo() -> None:
    (default,) = re.findall(r"^ARG EXTRAS=(.*)$", DOCKERFILE, re.M)
    provided = set(distribution("headrace").metadata.get_all("Provides-Extra") or ())
    assert set(default.split(",")) <= provided
    assert not [extra for extra in default.split(",") if extra.startswith("demo")]


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("src/headrace/version.py", False),
        ("src/headrace/__pycache__", True),
        ("src/headrace.egg-info/PKG-INFO", True),
        ("constraints.txt", False),
        (".git/config", True),
        ("tests/golden", True),
        (".venv", True),
    ],
)
def test_the_context_has_what_is_built_and_nothing_else(path: str, ignored: bool) -> None:
    assert is_ignored(path, (ROOT / ".dockerignore").read_text().split()) == ignored
