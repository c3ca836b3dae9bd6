"""Former properties beside those that took their place: the former ones have no effect, and the
warning says so."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest

import headrace
from headrace.cli.messages import Messages
from headrace.cli.pipeline import check_pipeline
from headrace.config.formats import Properties
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError, HeadraceWarning

POSTGRESQL = {
    "connector.class": "postgresql",
    "topic.prefix": "shop",
    "database.hostname": "localhost",
    "database.dbname": "shop",
    "database.user": "cdc",
    "database.password": "secret",
}
MONGODB = {
    "connector.class": "mongodb",
    "topic.prefix": "shop",
    "mongodb.connection.string": "mongodb://localhost/?replicaSet=rs0",
}
MODE = "transforms.u.delete.tombstone.handling.mode"


def step(kind: str, **options: str) -> dict[str, str]:
    named = {f"transforms.u.{name.replace('_', '.')}": text for name, text in options.items()}
    return {"transforms": "u", "transforms.u.type": kind, **named}


ROWS = step("ExtractNewRecordState", delete_tombstone_handling_mode="drop")
BOTH = [
    (POSTGRESQL | {"table.include.list": "s.t"}, "table.whitelist", "s.u", "table.include.list"),
    (POSTGRESQL, "database.server.name", "other", "topic.prefix"),
    (POSTGRESQL, "hostname", "elsewhere", "database.hostname"),
    (MONGODB, "mongodb.hosts", "elsewhere:27017", "mongodb.connection.string"),
    (MONGODB, "mongodb.name", "other", "topic.prefix"),
    (POSTGRESQL | ROWS, "transforms.u.drop.tombstones", "false", MODE),
    (POSTGRESQL | ROWS, "transforms.u.delete.handling.mode", "rewrite", MODE),
    (POSTGRESQL | ROWS, "transforms.u.delete.handling.mode", "no such mode", MODE),
    (
        POSTGRESQL | step("ExtractNewRecordState", add_headers="db"),
        "transforms.u.operation.header",
        "false",
        "transforms.u.add.headers",
    ),
    (
        POSTGRESQL | step("ExtractNewRecordState", add_fields="op"),
        "transforms.u.add.source.fields",
        "db",
        "transforms.u.add.fields",
    ),
    (
        MONGODB | step("ExtractNewDocumentState", field_name_adjustment_mode="none"),
        "transforms.u.sanitize.field.names",
        "true",
        "transforms.u.field.name.adjustment.mode",
    ),
    (
        POSTGRESQL | step("ReplaceField$Value", exclude="a"),
        "transforms.u.blacklist",
        "b",
        "transforms.u.exclude",
    ),
    (
        MONGODB | step("MongoEventRouter", collection_op_invalid_behavior="warn"),
        "transforms.u.table.op.invalid.behavior",
        "fatal",
        "transforms.u.collection.op.invalid.behavior",
    ),
]


@pytest.mark.parametrize(
    ("given", "former", "text", "successor"), BOTH, ids=lambda each: str(each)[:40]
)
@pytest.mark.parametrize("is_first", [True, False], ids=["before it", "after it"])
def test_a_former_property_beside_its_successor_is_a_warning_that_it_has_no_effect(
    given: Mapping[str, str], former: str, text: str, successor: str, *, is_first: bool
) -> None:
    both = {former: text, **given} if is_first else {**given, former: text}
    expected = (
        f"{former} has no effect, because {successor} is set [config.former_option]. Remove it."
    )
    assert [str(each) for each in parse_configuration(both).warnings] == [expected]
    with pytest.warns(HeadraceWarning) as warned:
        headrace.options(both)
    assert [str(each.message) for each in warned] == [expected]
    messages = io.StringIO()
    check_pipeline(Properties(both), {}, Messages(messages))
    lines = f"warning: {expected[: -len('. Remove it.')]}\nremedy: Remove it.\n"
    assert lines in messages.getvalue()


def test_what_has_an_effect_is_the_successor() -> None:
    properties = POSTGRESQL | {"table.include.list": "s.t", "table.whitelist": "s.u"}
    assert "s.t" in str(parse_configuration(properties).value_of("table_include_list"))
    row = {"type": "struct", "fields": [{"field": "id", "type": "int32"}], "optional": True}
    fields = [
        {"field": "op", "type": "string"},
        *({**row, "field": n} for n in ("before", "after")),
    ]
    payload = {"op": "d", "before": {"id": 1}, "after": None}
    schema = {"type": "struct", "name": "t.Envelope", "fields": fields}
    event = {"topic": "t", "key": None, "value": {"schema": schema, "payload": payload}}
    former = ROWS | {"transforms.u.delete.handling.mode": "rewrite"}
    assert headrace.transforms.apply_json(former, [event]) == [None]
    del former[MODE]
    (rewritten,) = headrace.transforms.apply_json(former, [event])
    assert rewritten is not None
    assert rewritten["value"]["payload"] == {"id": 1, "__deleted": "true"}


def test_an_empty_successor_does_not_count() -> None:
    properties = POSTGRESQL | step("ExtractNewRecordState", drop_tombstones="false") | {MODE: " "}
    (warning,) = parse_configuration(properties).warnings
    assert f"is read as {MODE}=tombstone" in warning.message


def test_where_unknown_properties_fail_a_former_one_does_so_in_any_case() -> None:
    properties = {**BOTH[0][0], "table.whitelist": "s.u", "headrace.unknown.properties": "fail"}
    with pytest.raises(HeadraceError, match=r"table\.whitelist is not a property"):
        parse_configuration(properties)
