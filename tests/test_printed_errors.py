"""An error that crosses the JVM is read back out of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError

AREAS = st.sampled_from(["postgresql", "mongodb", "db2", "kafka", "cloud_events", "batch-files"])
WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1)
SENTENCES = st.lists(WORDS, min_size=1).map(" ".join)


@given(AREAS, SENTENCES, SENTENCES, st.booleans())
def test_every_code_message_and_remedy_is_found_in_a_trace(
    area: str, message: str, remedy: str, retriable: bool
) -> None:
    error = HeadraceError(f"{area}.not_there_2", message, remedy, retriable=retriable)
    found_error = HeadraceError.find_in(
        f"Traceback (most recent call last):\n  line 1\nHeadraceError: {error}\n"
    )
    assert found_error is not None
    assert (found_error.code, found_error.message, found_error.remedy) == (
        error.code,
        message,
        remedy,
    )
    assert found_error.retriable is retriable


@given(SENTENCES, SENTENCES)
def test_a_sentence_is_cut_out_of_what_spark_writes_around_it(message: str, remedy: str) -> None:
    error = HeadraceError("spark.first", message, remedy)
    other = HeadraceError("spark.other", "Not this", "Nor that.")
    plan = (
        "=== Streaming Query ===\nIdentifier: [id = 5]\nLogical Plan:\n+- ~Project [raise_error("
        f"USER_RAISED_EXCEPTION, map(errorMessage, {other}), NullType)]\n"
    )
    failed = "[STREAM_FAILED] Query [id = 5, runId = 6] terminated with exception: "
    lost = "Job aborted due to stage failure: Lost task 0.3 (host executor driver): "
    raised = "org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] "
    for text in (
        f"{failed}[USER_RAISED_EXCEPTION] {error} SQLSTATE: P0001 SQLSTATE: XXKST\n{plan}",
        f"{failed}{lost}{raised}{error} SQLSTATE: P0001\n\tat java.lang.Thread.run\n{plan}",
        f"Trace:\npyspark.errors.SparkRuntimeException: [USER_RAISED_EXCEPTION] {error}\n{plan}",
        f"{raised}{error} SQLSTATE: P0001\n== DataFrame ==\n{other}\n",
        f"[CANNOT_X.Y] {error}\n== SQL (line 1, position 8) ==\nselect '{other}'\n",
        f"Caused by: java.lang.RuntimeException: {error}\n\nJVM stacktrace:\n{other}\n",
        f"{error}\n== Physical Plan ==\n{other}\n",
        f"{error}\n== Parsed Logical Plan ==\n{other}\n",
        f"  File x\nheadrace.errors.HeadraceError: {error}\n SQLSTATE: 39000\n{plan}",
    ):
        found_error = HeadraceError.find_in(text)
        assert found_error is not None
        assert str(found_error) == str(error)


def test_a_message_that_quotes_another_error_stays_whole() -> None:
    error = HeadraceError("spark.query_failed", "The query failed: ValueError: [X] no", "Look.")
    assert str(HeadraceError.find_in(f"HeadraceError: {error}\n")) == str(error)
    assert str(HeadraceError.find_in(str(error))) == str(error)


@pytest.mark.parametrize("code", ["orders", "Orders.NoAmount", "orders no.amount", "", "orders."])
def test_a_code_that_would_not_be_found_in_a_text_is_refused(code: str) -> None:
    with pytest.raises(ValueError, match="is not a code of an error"):
        HeadraceError(code, "It is wrong", "Correct it.")


def test_a_code_may_begin_with_the_name_of_any_connector() -> None:
    error = HeadraceError("MyDatabase2.no_tables", "It is wrong", "Correct it.", retriable=True)
    found_error = HeadraceError.find_in(f"x\n{error}\n")
    assert found_error is not None
    assert (found_error.code, found_error.retriable) == ("MyDatabase2.no_tables", True)
