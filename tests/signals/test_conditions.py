"""A filter's SQL is made of what is allowed, whatever the text was."""

from __future__ import annotations

import contextlib

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from headrace.signals.conditions import checked_filter, selected_filter

COLUMNS = ("id", "v", "Mixed Case", 'quo"ted')
# A second list: a class that slips into the module's own list is found here.
ALLOWED = frozenset(
    """and or not paren eq neq lt lte gt gte is in between like ilike nullsafeeq nullsafeneq add sub
    mul div mod neg literal boolean null column identifier cast datatype datatypeparam coalesce
    lower upper abs length currentdate currenttimestamp interval var""".split()  # noqa: SIM905
)
_OPERANDS = st.sampled_from(
    ["id", "v", "t.id", "public.t.v", '"Mixed Case"', '"quo""ted"', "1", "-1.5", "'x'", "'a''b'",
     "NULL", "TRUE", "now()", "CURRENT_DATE", "id::bigint", "CAST(v AS varchar(3))", "lower(v)",
     "coalesce(v, 'x')", "interval '1 day'", "date '2020-01-01'"]
)  # fmt: skip
_FORBIDDEN = st.sampled_from(
    ["pg_sleep(1)", "(SELECT 1)", "EXISTS (SELECT 1)", "u.id", "secret", "id::regclass",
     "CASE WHEN id = 1 THEN pg_read_file('x') END", "ARRAY(SELECT 1)", "id IN (SELECT 1)",
     "id = ANY (SELECT 1)", "lo_import('x')", "v COLLATE \"C\"", "nextval('s')", "$1", "*", ":x",
     "count(*) OVER ()", "current_setting('x')", "(TABLE u)", "v ~ 'a'", "xmlparse(v)"]
)  # fmt: skip
_COMPARED = st.sampled_from(["=", "<>", "<", ">=", "LIKE", "ILIKE", "IS DISTINCT FROM", "+", "/"])


def _joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(parts, _COMPARED | st.sampled_from(["AND", "OR"]), parts)
    return pairs.map(" ".join) | parts.map("({})".format) | parts.map("NOT {}".format)


expressions = st.recursive(_OPERANDS, _joined, max_leaves=6)
hostile = st.recursive(_OPERANDS | _FORBIDDEN, _joined, max_leaves=6)
snippets = st.lists(
    st.sampled_from([*"();,'\"$-/*.:=<>[]{}|&~!?@#%^\\", "--", "/*", "*/", "$$", " ", "\n", "\0",
                     "id", "v", "t", "SELECT", "FROM", "WHERE", "DROP TABLE t", "UNION", "INTO",
                     "E'\\''", "U&'\\0027'", "é", "\u2028", "1", "0x1", "1e5", "''", '""'])
    | st.text(max_size=3),
    max_size=12,
).map("".join)  # fmt: skip


def assert_harmless(sql: str) -> None:
    """Parsed again after a WHERE, it is one condition of allowed nodes over the columns."""
    statements = sqlglot.parse(f"SELECT * FROM public.t WHERE {sql}", read="postgres")
    assert len(statements) == 1
    select = statements[0]
    assert isinstance(select, exp.Select)
    assert {name for name, value in select.args.items() if value} <= {
        "expressions", "from", "from_", "where", "kind",
    }  # fmt: skip
    condition = select.args["where"].this
    for node in condition.walk():
        assert type(node).__name__.lower() in ALLOWED, (sql, type(node))
        if isinstance(node, exp.In):
            assert not node.args.get("query"), sql
        if isinstance(node, exp.Column):
            assert [part.name for part in node.parts] == [node.name], sql
            assert node.this.quoted, sql
            assert node.name in COLUMNS, sql


@given(expressions | hostile | snippets)
def test_a_filter_is_refused_or_made_of_allowed_nodes_alone(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert_harmless(checked_filter(text, "public.t", COLUMNS, dialect="postgres"))


@pytest.mark.parametrize("text", ["{:}", "id = {:}", "SELECT * FROM public.t WHERE {:}"])
def test_a_filter_that_the_parser_stumbles_over_is_refused(text: str) -> None:
    for check in (checked_filter, selected_filter):
        with pytest.raises(ValueError, match="filter"):
            check(text, "public.t", COLUMNS, dialect="postgres")


@given(expressions | hostile | snippets)
def test_a_select_is_refused_or_its_condition_is_made_of_allowed_nodes_alone(text: str) -> None:
    with contextlib.suppress(ValueError):
        sql = selected_filter(
            f"SELECT * FROM public.t WHERE {text}", "public.t", COLUMNS, dialect="postgres"
        )
        assert_harmless(sql)


@given(_FORBIDDEN, _COMPARED)
def test_what_is_forbidden_is_refused_in_every_place(text: str, operator: str) -> None:
    for filtered in (text, f"id = 1 AND ({text}) {operator} 1", f"coalesce({text}, 1) = 1"):
        with pytest.raises(ValueError, match=r"."):
            checked_filter(filtered, "public.t", COLUMNS, dialect="postgres")


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("id > 5 AND V IS NOT NULL", '"id" > 5 AND "v" IS NOT NULL'),
        ("t.id = 1 -- a comment", '"id" = 1'),
        ("v LIKE 'a''; DROP TABLE t'", "\"v\" LIKE 'a''; DROP TABLE t'"),
        ('"Mixed Case" = 1', '"Mixed Case" = 1'),
    ],
)
def test_what_is_allowed_is_generated_again(text: str, sql: str) -> None:
    written = checked_filter(text, "public.t", COLUMNS, dialect="postgres")
    # sqlglot before 30.20 writes it in the other order.
    assert written.replace('NOT "v" IS NULL', '"v" IS NOT NULL') == sql


@pytest.mark.parametrize(
    "source",
    [
        "ONLY public.t",
        "public.t TABLESAMPLE SYSTEM (1)",
        "public.t TABLESAMPLE BERNOULLI (10) REPEATABLE (5)",
        "public.t AS x (v, id)",
    ],
)
def test_a_source_that_is_not_the_whole_table_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"not SELECT \* FROM public.t"):
        selected_filter(
            f"SELECT * FROM {source} WHERE id > 1", "public.t", ("id", "v"), dialect="postgres"
        )


def test_the_condition_of_a_select_is_taken() -> None:
    text = "SELECT * FROM public.t WHERE id > 1"
    assert selected_filter(text, "public.t", ("id", "v"), dialect="postgres") == '"id" > 1'
    assert (
        selected_filter("SELECT * FROM public.t x", "public.t", ("id", "v"), dialect="postgres")
        == "1 = 1"
    )
