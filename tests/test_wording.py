"""Tests of tests/wording.py, which counts words whose number may only fall."""

from __future__ import annotations

from tests.wording import count, differences, read_counts


def test_words_are_counted_over_ends_of_lines_and_not_within_words() -> None:
    written = ["It is\n    hence. He is hence at it; thence, is henceforth.", "Is hence"]
    assert count(["is hence", "hence at"], written) == {"is hence": 3, "hence at": 1}


def test_a_count_that_rose_or_fell_is_a_difference() -> None:
    allowed = read_counts("3 is hence\n2 thence\n1 whence\n")
    assert differences(allowed, {"is hence": 3, "thence": 2, "whence": 1}) == []
    rose, fell = differences(allowed, {"is hence": 4, "thence": 2, "whence": 0})
    assert rose == '"is hence" occurs 4 times, 3 are allowed: use another word'
    assert fell == '"whence" occurs 0 times: write that into wording.txt'
