from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.regex import compile_java_regex
from headrace.signals.data_collections import check_expression, matching, named
from headrace.signals.progress import Pending
from headrace.signals.selection import tables_to_read, tables_to_stop
from headrace.signals.signal import Condition, ExecuteSnapshot

NAMES = ["public.orders", "public.Orders", "public.order_lines", "sales.orders", "a.b.c", "a.bxc"]


PARTS = [
    *("public", "a", "b", "sales", "order", "s", "_", ".", "\\.", ".*", "\\w+", "[a-z]+", "(", ")"),
    *("|", "?", "+", "\\Q.\\E", "\\p{Lower}", "(?:", "{2}", "^", "$"),
]


@given(expression=st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
def test_an_expression_matches_the_names_that_it_matches_in_the_include_lists(
    expression: str,
) -> None:
    try:
        pattern = compile_java_regex(expression)
    except ValueError:
        return
    try:
        matched_names = matching(expression, NAMES)
    except ValueError:
        return  # possessive, or a repetition of a repetition
    assert matched_names == [name for name in NAMES if pattern.fullmatch(name)]


@pytest.mark.parametrize(
    "expression",
    [".*", r"public\..*", r"public\.(orders|order_lines)", r"\Qpublic.\E\w+", r"(?<s>public)\..+"],
)
def test_usual_expressions_are_understood(expression: str) -> None:
    expected = [name for name in NAMES if compile_java_regex(expression).fullmatch(name)]
    assert matching(expression, NAMES) == expected
    assert expected


@pytest.mark.parametrize(
    "expression", ["(", "*", "(?=a)b", "(?<!a)b", "(a)\\1", "a" * 10_001, "(a{999}){999}", "[["]
)
def test_what_the_linear_engine_does_not_know_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="is not a regular expression"):
        check_expression(expression)


def test_a_name_with_quotes_names_the_table_with_the_dot() -> None:
    assert named('public."My.Table"', ["public.My.Table", "public.t"]) == ["public.My.Table"]
    assert named('"public"."t"', ["public.My.Table", "public.t"]) == ["public.t"]
    assert named('"a""b"."t"', ['a"b.t']) == ['a"b.t']


def conditions(action: ExecuteSnapshot) -> dict[str, str | None]:
    return {table.name: table.condition for table in tables_to_read("1", action, NAMES)}


def test_the_single_condition_is_for_all_tables_and_the_list_wins_for_its_own() -> None:
    action = ExecuteSnapshot(
        ("public\\..*", '"public"."My.Table"'),
        conditions=(
            Condition("public.order_lines", "first"),
            Condition("PUBLIC.ORDER.*", "second"),
            Condition('"public"."My.Table"', "quoted"),
        ),
        condition="single",
    )
    assert conditions(action) == {
        "public.orders": "second",
        "public.Orders": "second",
        "public.order_lines": "first",
        "public.My.Table": "quoted",
    }
    alone = ExecuteSnapshot(("public.orders", "sales.orders"), condition="single")
    assert conditions(alone) == {
        "public.orders": "single",
        "public.Orders": "single",
        "sales.orders": "single",
    }


def test_a_stop_names_tables_as_the_start_did() -> None:
    pending = [Pending(name, "1") for name in ("public.My.Table", "public.t")]
    assert tables_to_stop(['public."My.Table"'], pending) == pending[:1]
    assert tables_to_stop([], pending) == pending
    assert tables_to_stop(["("], pending) == []


def test_a_filter_that_is_for_none_of_the_tables_is_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    action = ExecuteSnapshot(("public.orders",), conditions=(Condition("public.oders", "id = 1"),))
    assert conditions(action)["public.orders"] is None
    assert "its filter for public.oders matches none of its tables" in caplog.text


def test_a_database_may_stand_before_a_name() -> None:
    names = ["INV.ORDERS", "INV.ITEMS"]
    assert matching("PDB.INV.ORDERS", names, "PDB.") == ["INV.ORDERS"]
    assert matching(r"INV\.(ORDERS|ITEMS)", names, "PDB.") == names
    assert matching("OTHER.INV.ORDERS", names, "PDB.") == []
    action = ExecuteSnapshot(
        ("PDB.INV.ORDERS",), conditions=(Condition("PDB.INV.ORDERS", "ID = 1"),)
    )
    (table,) = tables_to_read("1", action, names, "PDB.")
    assert (table.name, table.condition) == ("INV.ORDERS", "ID = 1")
    assert tables_to_stop(["PDB.INV.ORDERS"], [table], "PDB.") == [table]
