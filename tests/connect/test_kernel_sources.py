"""The digest of the sources that make kernels, which names the folder of compiled kernels."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace
from headrace.connect.kernels import sources
from headrace.connect.kernels.sources import content_digest, kernel_sources
from headrace.spark.kernels.needed import all_kernels

KERNEL = "from headrace.near.part import VALUE\n@entry\ndef kernel(number):\n    return VALUE\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a kernel, a module from which the kernel imports a name, and a module that no
    kernel uses."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(sources, "_SETTLED_NS", 0)
    package = tmp_path / "headrace"
    (package / "near").mkdir(parents=True)
    (package / "near/part.py").write_text("VALUE = 1\n")
    (package / "kernel.py").write_text(KERNEL)
    (package / "other.py").write_text("VALUE = 3\n")
    return package


def unread(monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Return a function that says whether no source was read since this call."""
    original = sources.kernel_sources
    calls: list[Path] = []

    def counted(package: Path) -> list[Path]:
        calls.append(package)
        return original(package)

    monkeypatch.setattr(sources, "kernel_sources", counted)
    return lambda: not calls


def test_the_sources_are_read_once(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = content_digest(package)
    is_unread = unread(monkeypatch)
    assert content_digest(package) == digest
    assert is_unread()


def test_a_change_that_keeps_the_size_and_the_time_of_a_file_changes_the_digest(
    package: Path,
) -> None:
    digest, part = content_digest(package), package / "near/part.py"
    before = part.stat()
    part.write_text("VALUE = 2\n")
    os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (part.stat().st_size, part.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    changed = content_digest(package)
    assert changed != digest
    part.write_text("VALUE = 1\n")
    assert content_digest(package) == digest


def test_a_new_module_changes_the_digest_until_it_is_removed(package: Path) -> None:
    digest = content_digest(package)
    (package / "near/more.py").write_text(KERNEL)
    assert content_digest(package) != digest
    (package / "near/more.py").unlink()
    assert content_digest(package) == digest


def test_the_digest_does_not_depend_on_other_modules_or_on_the_folder(package: Path) -> None:
    digest = content_digest(package)
    (package / "other.py").write_text("VALUE = 4\n")
    assert content_digest(package) == digest
    assert content_digest(package.rename(package.with_name("elsewhere"))) == digest


def test_files_that_have_just_changed_are_read_again(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_SETTLED_NS", 10**18)
    content_digest(package)
    is_unread = unread(monkeypatch)
    content_digest(package)
    assert not is_unread()


@pytest.mark.parametrize("content", ["", "0123", "\xff", "0123 4567\n", "a b c\n", None])
def test_a_digest_is_computed_if_its_file_cannot_be_read(
    package: Path, content: str | None
) -> None:
    digest = content_digest(package)
    (known,) = (package.parent / "kernels/sources").iterdir()
    if content is None:
        known.unlink()
        known.mkdir()
    else:
        known.write_bytes(content.encode("latin-1"))
    assert content_digest(package) == digest


def test_a_module_that_is_imported_from_its_package_counts(package: Path) -> None:
    (package / "kernel.py").write_text(
        f"from headrace.near import (\n    more,\n    part,\n)\n{KERNEL.partition(chr(10))[2]}"
    )
    digest = content_digest(package)
    (package / "near/part.py").write_text("VALUE = 2\n")
    assert content_digest(package) != digest


def test_all_modules_of_kernels_count() -> None:
    package = Path(headrace.__file__).parent
    counted = {source.relative_to(package.parent) for source in kernel_sources(package)}
    for module in all_kernels():
        assert Path(*module.split(".")).with_suffix(".py") in counted, module
