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


def test_a_word_in_a_phrase_does_not_count_also_over_the_end_of_a_line() -> None:
    written = ["It goes hence. Hence with\n    it, from hence", "is hence with it"]
    phrases = ["hence with it", "from hence"]
    assert count(["hence", "is hence"], written, phrases) == {"hence": 1, "is hence": 0}
