"""Objects that a workload made are removed, last first, and those that remain are named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from headrace.errors import HeadraceError
from headrace.support.workload import Traces


def made(*statements: str) -> Traces:
    traces = Traces()
    for statement in statements:
        traces.expect(statement)
    return traces


def test_what_was_made_last_is_taken_back_first() -> None:
    sent: list[str] = []
    assert made("DROP a", "DROP b").take_back(lambda statement: not sent.append(statement)) == []
    assert sent == ["DROP b", "DROP a"]


def test_what_the_database_did_not_make_is_not_taken_back() -> None:
    traces = made("DROP a", "DROP b")
    traces.forget("DROP b")
    sent: list[str] = []
    traces.take_back(lambda statement: not sent.append(statement))
    assert sent == ["DROP a"]


def test_what_cannot_be_taken_back_is_named_in_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert made("DROP a", "DROP b").take_back(lambda statement: statement == "DROP a") == ["DROP b"]
    assert "Run these statements: DROP b;" in caplog.text


def test_an_interruption_while_it_is_taken_back_names_what_is_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def interrupted(statement: str) -> bool:
        if statement == "DROP a":
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        made("DROP first", "DROP a", "DROP b").take_back(interrupted)
    assert "Run these statements: DROP a; DROP first;" in caplog.text


@pytest.mark.parametrize("error", [KeyboardInterrupt(), HeadraceError("oracle.gone", "g", "r")])
def test_what_cannot_be_taken_back_for_want_of_a_session_is_named(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    @contextmanager
    def refused() -> Iterator[Callable[[str], bool]]:
        raise error
        yield

    traces = made("DROP TABLE A", "DROP TABLE B")
    with suppress(KeyboardInterrupt):
        traces.take_back_on(refused())
    assert "DROP TABLE B; DROP TABLE A;" in caplog.text
    traces.take_back_on(refused())  # there is nothing left to take back
