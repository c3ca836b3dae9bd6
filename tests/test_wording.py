"""Tests of tests/wording.py, which counts words whose number may only fall."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.wording import count, differences, read_counts, texts


def test_words_are_counted_over_ends_of_lines_and_not_within_words() -> None:
    written = ["It is\n    hence. He is hence at it; thence, is henceforth.", "Is hence"]
    assert count(["is hence", "hence at"], written) == {"is hence": 3, "hence at": 1}


def test_a_count_that_rose_or_fell_is_a_difference() -> None:
    allowed = read_counts("3 is hence\n2 thence\n1 whence\n")
    assert differences(allowed, {"is hence": 3, "thence": 2, "whence": 1}) == []
    rose, fell = differences(allowed, {"is hence": 4, "thence": 2, "whence": 0})
    assert rose == '"is hence" occurs 4 times, 3 are allowed: use another word'
    assert fell == '"whence" occurs 0 times: write that into wording.txt'


def test_a_word_in_a_phrase_does_not_count_also_over_the_end_of_a_line() -> None:
    written = ["It goes hence. Hence with\n    it, from hence", "is hence with it"]
    phrases = ["hence with it", "from hence"]
    assert count(["hence", "is hence"], written, phrases) == {"hence": 1, "is hence": 0}


NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.parametrize("in_repository", [pytest.param(True, marks=NEEDS_GIT), False])
def test_what_a_tool_made_is_not_read(in_repository: bool, tmp_path: Path) -> None:
    written = {"docs/a.md": "a page", "deploy/b.yaml": "a manifest", "demo/c": "a script"}
    made = {"demo/headrace_demo.egg-info/d": "metadata"}
    if in_repository:
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        (tmp_path / ".gitignore").write_text("*.egg-info/\nbuilt\n")
        made["demo/built"] = "a program"
    for name, text in (written | made).items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert sorted(texts(tmp_path)) == sorted(written.values())
