"""The ratchet for words: see tests/wording.py."""

from __future__ import annotations

from tests.wording import count, differences, read_counts


def test_words_are_counted_over_ends_of_lines_and_not_within_words() -> None:
    written = ["It is\n    told. He is told of it; untold, is toldest.", "Is told"]
    assert count(["is told", "told of"], written) == {"is told": 3, "told of": 1}


def test_a_count_that_rose_or_fell_is_a_difference() -> None:
    allowed = read_counts("3 is told\n2 anew\n1 mend\n")
    assert differences(allowed, {"is told": 3, "anew": 2, "mend": 1}) == []
    rose, fell = differences(allowed, {"is told": 4, "anew": 2, "mend": 0})
    assert rose == '"is told" stands 4 times, 3 are allowed: use another word'
    assert fell == '"mend" stands 0 times: write that into wording.txt'
