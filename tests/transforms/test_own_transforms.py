"""The page on adding a transform, executed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.config.java_properties import parse_properties
from headrace.connect.json_records import read_records
from headrace.connect.records import Records
from headrace.errors import HeadraceError
from headrace.transforms import apply_json
from headrace.transforms.json_form import read_chain
from headrace.transforms.transform import Ordering, transform
from tests.installation import pip

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-transform.md"
ORDER = {
    "type": "struct",
    "optional": False,
    "fields": [
        {"field": "id", "type": "int32", "optional": False},
        {"field": "amount", "type": "int64", "optional": True},
    ],
}


def block(language: str, words: str = "") -> str:
    """The first block of the page in a language that has these words."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return next(block for block in blocks if words in block)


def order(amount: int | None) -> dict[str, Any]:
    value = {"schema": ORDER, "payload": {"id": 1, "amount": amount}}
    return {"topic": "orders", "partition": None, "timestamp": None, "key": None, "value": value,
            "headers": []}  # fmt: skip


@pytest.fixture
def properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    (tmp_path / "orders.py").write_text(block("python"))
    monkeypatch.syspath_prepend(tmp_path)
    return {entry.key: entry.value for entry in parse_properties(block("properties"))}


def test_the_transforms_of_the_page_do_what_it_says(properties: dict[str, str]) -> None:
    other = order(1) | {"topic": "others", "value": {"schema": {"type": "string"}, "payload": "x"}}
    gone = order(1) | {"value": None}
    outcomes = apply_json(properties, [order(99), order(100), order(None), other, gone])
    assert outcomes[0] is None
    payloads = [each and each["value"] and each["value"]["payload"] for each in outcomes[1:]]  # type: ignore[index]
    assert payloads == [
        {"id": 1, "amount": 100, "total": 119},
        {"id": 1, "amount": None, "total": None},
        "x",
        None,
    ]


def test_the_record_of_the_page_becomes_what_it_shows(properties: dict[str, str]) -> None:
    record = json.loads(block("json", '"payload": {"id": 1, "amount": 120}'))
    schemaless = record | {"value": {"schema": None, "payload": {"amount": 12}}}
    became, passed = apply_json(properties, [record, schemaless])
    assert became == json.loads(block("json", '"total":142'))
    assert passed is not None
    assert passed["value"] == schemaless["value"]


def test_the_class_of_the_page_has_shapes_for_each_set_of_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taxed.py").write_text(block("python", "taxed.py:"))
    monkeypatch.syspath_prepend(tmp_path)
    properties = {
        "transforms": "a,b",
        "transforms.a.type": "taxed:DECLARATION",
        "transforms.a.tax": "19",
        "transforms.b.type": "taxed:DECLARATION",
        "transforms.b.tax": "7",
        "transforms.b.field": "reduced",
    }
    (became,) = apply_json(properties, [order(100)])
    assert became is not None
    assert became["value"]["payload"] == {"id": 1, "amount": 100, "total": 119, "reduced": 107}


MORE_ENTRY_POINTS = """
WithTotal = "orders:with_total"
Gone = "orders:no_such_function"
HeaderToValue = "orders:with_total"
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a distribution that pip built and installed there."""
    folder = tmp_path_factory.mktemp("package")
    project, target = folder / "project", folder / "installed"
    project.mkdir()
    for name, text in (
        ("pyproject.toml", block("toml") + MORE_ENTRY_POINTS),
        ("declared.py", block("python", "declared.py:")), ("orders.py", block("python")),
    ):  # fmt: skip
        (project / name).write_text(text)
    pip("install", "--no-build-isolation", "--no-deps", "--target", target, project)
    return target


def found_by_python(*folders: Path) -> str:
    """PYTHONPATH with these folders before the present ones."""
    return os.pathsep.join(filter(None, [*map(str, folders), os.environ.get("PYTHONPATH")]))


def transformed(
    installed: Path, tmp_path: Path, **options: str
) -> subprocess.CompletedProcess[str]:
    """The result of a fresh process that finds the package, for two orders."""
    (tmp_path / "chain.properties").write_text(
        "\n".join(["transforms=a,b", *(f"transforms.{n}={text}" for n, text in options.items())])
    )
    records = "\n".join(json.dumps(order(amount)) for amount in (99, 100))
    return subprocess.run(
        [sys.executable, "-m", "headrace.cli", "transform", tmp_path / "chain.properties"],
        input=records, env={**os.environ, "PYTHONPATH": found_by_python(installed)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_transforms_of_an_installed_package_are_found_by_their_entry_points(
    installed: Path, tmp_path: Path
) -> None:
    chain = {"a.type": "OnlyLarge", "a.least": "100", "b.type": "WithTotal", "b.tax": "19"}
    run = transformed(installed, tmp_path, **chain)
    assert run.returncode == 0, run.stderr
    small, large = map(json.loads, run.stdout.splitlines())
    assert small is None
    assert large["value"]["payload"] == {"id": 1, "amount": 100, "total": 119}


def test_what_is_wrong_with_transforms_of_a_package_is_reported_at_once(
    installed: Path, tmp_path: Path
) -> None:
    run = transformed(installed, tmp_path, **{"a.type": "OnlyLarge", "b.type": "Gone"})
    assert run.returncode == 1
    assert "transforms.a.least is missing" in run.stderr
    assert "transforms.b.type: orders:no_such_function cannot be loaded" in run.stderr
    run = transformed(installed, tmp_path, **{"a.type": "OnlyLarg", "b.type": "WithTotal"})
    assert "transforms.a.type: 'OnlyLarg' is not a transform; did you mean OnlyLarge?" in run.stderr


def described(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The result of `describe transforms` in a fresh process that finds the package."""
    return subprocess.run(
        [sys.executable, "-m", "headrace.cli", "describe", "transforms", *words],
        env={**os.environ, "PYTHONPATH": found_by_python(installed), "COLUMNS": "200"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_transforms_of_an_installed_package_are_described(installed: Path) -> None:
    run = described(installed, "--markdown")
    assert run.returncode == 0, run.stderr
    assert "| Transforms of other packages | |\n|---|---|\n| OnlyLarge | " in run.stdout
    assert "| WithTotal | " in run.stdout
    assert "| Gone | " not in run.stdout
    assert "orders:no_such_function cannot be loaded" in run.stderr
    run = described(installed, "OnlyLarge")
    assert run.returncode == 0, run.stderr
    assert "OnlyLarge" in run.stdout
    assert "least" in run.stdout
    run = described(installed, "OnlyLarge", "--grep", "least")
    assert "Options of OnlyLarge" in run.stdout
    run = described(installed, "orders:with_total", "--markdown")
    assert run.stdout.startswith("# orders:with_total\n")


def test_an_entry_point_with_the_name_of_another_transform_is_left_out_with_a_warning(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_out = (
        "The transform HeaderToValue (orders:with_total) of the package orders-of-a-shop is left "
        "out: there is a transform HeaderToValue already"
    )
    run = transformed(installed, tmp_path, **{"a.type": "WithTotal", "b.type": "WithTotal"})
    assert left_out in run.stderr
    run = transformed(installed, tmp_path, **{"a.type": "DropHeaders", "b.type": "DropHeaders"})
    assert left_out in run.stderr
    second = tmp_path / "second" / "totals-1.dist-info"
    second.mkdir(parents=True)
    (second / "METADATA").write_text("Metadata-Version: 2.1\nName: totals\nVersion: 1\n")
    (second / "entry_points.txt").write_text("[headrace.transforms]\nWithTotal = other:total\n")
    monkeypatch.setenv("PYTHONPATH", found_by_python(second.parent))
    run = transformed(installed, tmp_path, **{"a.type": "WithTotal", "b.type": "WithTotal"})
    assert "The transform WithTotal (other:total) of the package totals is left out" in run.stderr


def test_the_command_of_the_page_finds_a_module_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text(block("python"))
    (tmp_path / "mine.properties").write_text(block("properties"))
    (tmp_path / "records.jsonl").write_text(json.dumps(order(100)))
    command = block("sh", "PYTHONPATH").replace("headrace ", '"$PYTHON" -m headrace.cli ')
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHON"] = sys.executable
    run = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["value"]["payload"] == {"id": 1, "amount": 100, "total": 119}


@transform(ordering=Ordering.KEEPS_KEY)
def careless(records: Records, options: Mapping[str, str]) -> Iterable[Records]:
    """Gives what is no part of its records of the topic odd."""
    results: dict[str, Any] = {
        "texts": ["x"],
        "nothing": None,
        "one": records,
        "twice": [records, records],
        "others": [replace(records, place=records.place + 1000)],
        "short": [replace(records, place=records.place[:0])],
        "shapeless": [replace(records, shape=None)],  # type: ignore[arg-type]
    }
    return results[options["gives"]] if records.shape.topic == "odd" else [records]


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        ("texts", "it gave a str instead of Records"),
        ("nothing", "TypeError"),
        ("one", "TypeError"),
        ("twice", "it gave a record twice"),
        ("others", "it gave a record that it did not get"),
        ("short", "it gave Records with another number of rows than of places"),
        ("shapeless", "instead of Records"),
    ],
)
def test_a_wrong_result_is_an_error_with_the_alias(gives: str, message: str) -> None:
    transform_name = f"{__name__}:careless"
    chain = {"transforms": "a", "transforms.a.type": transform_name, "transforms.a.gives": gives}
    odd = order(1) | {"topic": "odd"}
    outcomes = apply_json(chain, [order(1), odd, odd])
    assert outcomes[0] is not None
    assert outcomes[0]["topic"] == "orders"
    for result in outcomes[1:]:
        assert result is not None
        assert str(result["error"]).startswith("transforms.a: ")
        assert message in str(result["error"])
    with pytest.raises(HeadraceError, match=r"^transforms\.a: "):
        read_chain(chain)(read_records([odd]))
