"""Cache folders, from which code is run: of this user, and closed to others."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace
from headrace.connect import cache_folders
from headrace.connect.cache_folders import cache_folder, kernel_folder

Folder = Callable[[Path], Path]

DIGEST = "0123456789abcdef"


def of_spark(root: Path) -> Path:
    return cache_folder("java")


def of_kernels(root: Path) -> Path:
    return kernel_folder(DIGEST)


@pytest.fixture(params=[of_spark, of_kernels])
def folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Folder:
    """Makes the folder below `tmp_path`; others are made in `tmp_path / "temporary"`."""
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    make_folder: Folder = request.param
    return make_folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_made_for_this_user_alone(folder: Folder, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        created_folder = folder(tmp_path)
    finally:
        os.umask(before)
    assert created_folder.parent == tmp_path / "cache"
    assert mode(created_folder) == mode(created_folder.parent) == 0o700
    assert folder(tmp_path) == created_folder


def test_it_is_closed_when_it_was_open(folder: Folder, tmp_path: Path) -> None:
    created_folder = folder(tmp_path)
    created_folder.chmod(0o777)
    assert folder(tmp_path) == created_folder
    assert mode(created_folder) == 0o700


def test_in_a_shared_cache_every_user_has_his_own(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = folder(tmp_path)
    (first / "code").write_text("not mine")
    uid = os.geteuid()
    real = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        status = real(path)
        return os.stat_result((*status[:4], uid + 1, *status[5:])) if path == first else status

    monkeypatch.setattr(Path, "lstat", lstat)
    other = folder(tmp_path)
    assert other != first
    assert list(other.iterdir()) == []
    assert folder(tmp_path) == other


def test_a_folder_whose_parent_another_user_owns_is_not_used(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        status = real(path)
        uid = os.geteuid() + 1 if path == tmp_path / "cache" else status.st_uid
        return os.stat_result((*status[:4], uid, *status[5:]))

    monkeypatch.setattr(Path, "lstat", lstat)
    assert folder(tmp_path).parent.parent == tmp_path / "temporary"


def test_a_link_is_not_followed(folder: Folder, tmp_path: Path) -> None:
    created_folder = folder(tmp_path)
    created_folder.rmdir()
    target = tmp_path / "elsewhere"
    target.mkdir()
    created_folder.symlink_to(target)
    assert folder(tmp_path) != created_folder
    assert list(target.iterdir()) == []


def test_without_a_usable_one_it_is_temporary(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    created_folder = folder(tmp_path)
    assert created_folder.parent.parent == tmp_path / "temporary"
    assert folder(tmp_path) == created_folder, "other processes find what one has put there"
    assert mode(created_folder) == 0o700


def test_kernels_are_kept_beside_the_rest_unless_numba_has_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert kernel_folder("0123") == tmp_path / "cache" / "kernels" / "0123"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert kernel_folder("0123") == tmp_path / "numba" / "0123"


def test_installations_of_the_same_sources_share_their_kernels(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(Path(headrace.__file__).parent, copy / "headrace")
    script = (
        "import headrace; from headrace.connect.kernels.text import hash_bytes;"
        "print(headrace.__file__, hash_bytes._cache.cache_path)"
    )
    environment = {**os.environ, "PYTHONPATH": str(copy), "HEADRACE_CACHE_DIR": str(tmp_path / "c")}
    environment.pop("NUMBA_CACHE_DIR", None)

    def printed_paths() -> list[str]:
        run = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return run.stdout.split()

    file, folder = printed_paths()
    assert file.startswith(str(copy))
    environment["PYTHONPATH"] = str(Path(headrace.__file__).parents[1])
    assert printed_paths() == [headrace.__file__, folder]
    assert folder.endswith("connect.kernels.text")


def test_processes_share_kernels_also_where_no_folder_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file")
    (tmp_path / f"headrace-kernels-{os.geteuid()}").write_text("of somebody else")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    created_folder = kernel_folder("0123")
    assert "kernels cannot be kept" in caplog.text
    assert mode(created_folder) == mode(created_folder.parent) == 0o700
    script = (
        "from headrace.connect.cache_folders import kernel_folder; print(kernel_folder('0123'))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(created_folder)


def test_a_user_without_a_home_has_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_names: str) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("HEADRACE_CACHE_DIR", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", unknown)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    root = tmp_path / f"headrace-cache-{os.geteuid()}"
    assert kernel_folder("0123") == root / "kernels" / "0123"
    assert cache_folder("java") == root / "java"
    assert mode(root) == 0o700


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of kernels that this user cannot write."""
    image = tmp_path / "image"
    for name in ("compiled-here/module.kernel", "module/kernel.nbc"):
        file = image / DIGEST / name
        file.parent.mkdir(parents=True)
        file.write_text(name)
    (image / DIGEST / "compiling.lock").touch(0o666)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(cache_folders, "_replaced", None)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(image))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    # Root may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, _mode: image not in Path(path).parents)
    return image


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


KERNELS = {"compiled-here/module.kernel", "module/kernel.nbc"}


def test_kernels_of_a_folder_that_cannot_be_written_are_copied(image: Path, tmp_path: Path) -> None:
    copied = kernel_folder(DIGEST)
    assert tmp_path / "temporary" in copied.parents
    assert files_in(copied) == KERNELS
    assert mode(copied) == mode(copied / "module") == 0o700
    assert list(copied.parent.iterdir()) == [copied]
    assert kernel_folder(DIGEST) == copied


def test_they_are_copied_also_where_no_folder_lasts(image: Path, tmp_path: Path) -> None:
    (tmp_path / "temporary" / f"headrace-kernels-{os.geteuid()}").touch()
    kernel_folder("sources")
    assert files_in(kernel_folder(DIGEST)) == KERNELS


@pytest.mark.parametrize("changed", ["module", "module/kernel.nbc"])
def test_files_that_others_can_write_are_not_copied(image: Path, changed: str) -> None:
    (image / DIGEST / changed).chmod(0o777)
    assert files_in(kernel_folder(DIGEST)) == {"compiled-here/module.kernel"}


def test_nothing_is_copied_from_a_folder_of_another_user(
    image: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        status = real(path)
        uid = os.geteuid() + 1 if path == image / DIGEST else status.st_uid
        return os.stat_result((*status[:4], uid, *status[5:]))

    monkeypatch.setattr(Path, "lstat", lstat)
    assert files_in(kernel_folder(DIGEST)) == set()
    assert "other users may have written them" in caplog.text
