"""Topic naming strategies, and names that Avro accepts."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from headrace.config.regex import compile_java_regex
from headrace.debezium.naming.names import NameAdjustment, NameAdjustmentMode
from headrace.debezium.naming.topics import (
    KeyField,
    NameReplacement,
    TopicNames,
    TopicNamingStrategy,
    unicode_sanitized,
)

AVRO = NameAdjustment(NameAdjustmentMode.AVRO, NameAdjustmentMode.AVRO)
UNICODE = NameAdjustment(NameAdjustmentMode.AVRO_UNICODE, NameAdjustmentMode.AVRO_UNICODE)
names = st.text(st.characters(codec="utf-8"), min_size=1)


def test_a_default_strategy_leaves_the_schema_out() -> None:
    topics = TopicNames("p", strategy=TopicNamingStrategy.DEFAULT)
    assert topics.data("s", "orders") == "p.orders"


def test_a_unicode_strategy_escapes_what_kafka_forbids() -> None:
    topics = TopicNames("p", strategy=TopicNamingStrategy.SCHEMA_UNICODE)
    assert topics.data("s", "my_table\U0001f600") == "p.s.my_u005ftable_ud83d_ude00"


@given(names)
def test_an_escaped_topic_name_is_one_kafka_accepts(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._-]{0,249}", unicode_sanitized(name))


def test_a_regex_strategy_joins_tables_and_distinguishes_their_rows() -> None:
    topics = TopicNames(
        "p",
        strategy=TopicNamingStrategy.SCHEMA_REGEX,
        routing=NameReplacement(compile_java_regex(r"(.*)shard_[0-9]+"), "$1all\\$"),
        key_field=KeyField(
            "from", NameReplacement(compile_java_regex(r".*shard_([0-9]+)"), "<$1>")
        ),
    )
    assert topics.data("s", "shard_12") == "p.s.all$"
    assert topics.key_fields("s", "shard_12") == (("from", "<12>"),)
    assert topics.data("s", "other") == "p.s.other"
    assert topics.key_fields("s", "other") == (("from", "p.s.other"),)
    assert TopicNames("p").key_fields("s", "other") == ()


def test_a_routing_that_gives_no_name_keeps_the_topic() -> None:
    topics = TopicNames("p", routing=NameReplacement(compile_java_regex(".*"), ""))
    assert topics.data("s", "t") == "p.s.t"


@given(names)
def test_adjusted_names_are_avros(name: str) -> None:
    for adjustment in (AVRO, UNICODE):
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", adjustment.field(name))
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", adjustment.schema(name))


@given(st.lists(names, unique=True, max_size=8))
def test_unicode_adjustment_keeps_names_distinct(field_names: list[str]) -> None:
    assert len({UNICODE.field(name) for name in field_names}) == len(field_names)


def test_a_leading_digit_is_kept_after_an_underscore() -> None:
    assert AVRO.field("1st") == "_1st"
    assert UNICODE.field("1st") == "_u0031st"
