"""Tables whose events nobody could distinguish."""

from __future__ import annotations

from headrace.config.regex import compile_java_regex
from headrace.connectors.mongodb.events import SCHEMA_PARTS
from headrace.debezium.naming.clashes import name_clashes
from headrace.debezium.naming.names import AS_NAMED, NameAdjustment, NameAdjustmentMode
from headrace.debezium.naming.topics import NameReplacement, TopicNames, TopicNamingStrategy

AVRO = NameAdjustment(NameAdjustmentMode.AVRO, NameAdjustmentMode.AVRO)


def clashes(
    *tables: tuple[str, str], topics: TopicNames | None = None, names: NameAdjustment = AS_NAMED
) -> list[tuple[str, tuple[str, ...]]]:
    table_clashes = name_clashes(tables, topics or TopicNames("p"), names)
    return [(clash.kind, clash.tables) for clash in table_clashes]


def test_names_that_kafka_does_not_distinguish_share_a_topic() -> None:
    assert clashes(("s", "a b"), ("s", "a$b"), ("s", "c")) == [("topic", ("s.a b", "s.a$b"))]


def test_a_schema_that_is_left_out_does_not_distinguish_tables() -> None:
    default = TopicNames("p", strategy=TopicNamingStrategy.DEFAULT)
    assert clashes(("s", "t"), ("u", "t"), topics=default) == [("topic", ("s.t", "u.t"))]
    assert clashes(("s", "t"), ("u", "t")) == []


def test_a_dot_in_a_name_does_not_distinguish_a_schema_from_a_table() -> None:
    assert clashes(("s", "t.u"), ("s.t", "u")) == [("topic", ("s.t.u", "s.t.u"))]


def test_topics_of_their_own_can_share_a_schema_name() -> None:
    assert clashes(("s", "a-b"), ("s", "a_b"), names=AVRO) == [("schema name", ("s.a-b", "s.a_b"))]


def test_tables_that_are_routed_to_one_topic_share_it_on_purpose() -> None:
    routed = TopicNames(
        "p",
        strategy=TopicNamingStrategy.SCHEMA_REGEX,
        routing=NameReplacement(compile_java_regex(r"(.*)_\d+"), "$1"),
    )
    assert clashes(("s", "t_1"), ("s", "t_2"), topics=routed) == []


def test_documents_share_the_names_of_the_schemas_that_their_events_have() -> None:
    (clash,) = name_clashes([("s", "a-b"), ("s", "a_b")], TopicNames("p"), AVRO, SCHEMA_PARTS)
    assert str(clash) == (
        "s.a-b and s.a_b get the same schema names, p.s.a_b.Key and p.s.a_b.Envelope"
    )
