"""An error that crosses the JVM is read back out of a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError

AREAS = st.sampled_from(["postgresql", "mongodb", "db2", "kafka", "cloud_events"])
WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1)
SENTENCES = st.lists(WORDS, min_size=1).map(" ".join)


@given(AREAS, SENTENCES, SENTENCES, st.booleans())
def test_every_code_message_and_remedy_is_found_in_a_trace(
    area: str, message: str, remedy: str, retriable: bool
) -> None:
    error = HeadraceError(f"{area}.not_there_2", message, remedy, retriable=retriable)
    found = HeadraceError.find_in(
        f"Traceback (most recent call last):\n  line 1\nHeadraceError: {error}\n"
    )
    assert found is not None
    assert (found.code, found.message, found.remedy) == (error.code, message, remedy)
    assert found.retriable is retriable
