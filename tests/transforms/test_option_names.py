"""Options of transforms that are misspelt, name what no event has, or need another format."""

from __future__ import annotations

import logging

import pytest

from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.transforms import apply_json
from headrace.transforms.json_form import read_chain

DOCUMENTS = {"transforms": "u", "transforms.u.type": "ExtractNewDocumentState"}
MONGODB = {
    "connector.class": "mongodb",
    "mongodb.connection.string": "mongodb://localhost:27017/?replicaSet=rs0",
    "topic.prefix": "shop",
}


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("array.coding", "array.encoding"),
        ("struct.delimiter", "flatten.struct.delimiter"),
        ("add.feilds", "add.fields"),
    ],
)
def test_an_option_that_resembles_another_is_an_error(option: str, meant: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        read_chain({**DOCUMENTS, f"transforms.u.{option}": "document"})
    assert f"did you mean transforms.u.{meant}?" in str(raised.value)
    assert "?." not in str(raised.value)


def test_an_option_that_resembles_none_is_a_warning_with_its_code(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        read_chain({**DOCUMENTS, "transforms.u.zebra": "1"})
    assert "transforms.u.zebra is not a property of transforms.u [config.unknown" in caplog.text


@pytest.mark.parametrize("option", ["add.fields", "add.headers"])
@pytest.mark.parametrize("kind", ["ExtractNewDocumentState", "ExtractNewRecordState"])
def test_a_struct_that_no_event_has_is_an_error_at_the_start(option: str, kind: str) -> None:
    step = {"transforms": "u", "transforms.u.type": kind}
    with pytest.raises(HeadraceError, match=r"no event has a struct sorce \(sorce\.db\); did you"):
        read_chain({**step, f"transforms.u.{option}": "op,sorce.db"})
    with pytest.raises(HeadraceError, match="updateDescription"):
        read_chain({**step, f"transforms.u.{option}": "nope.x"})
    read_chain({**step, f"transforms.u.{option}": "source.nope,updateDescription.updatedFields"})


def test_a_struct_that_a_transform_before_may_add_is_taken() -> None:
    read_chain(
        {
            "transforms": "h,u",
            "transforms.h.type": "HeaderToValue",
            "transforms.h.headers": "trace",
            "transforms.h.fields": "meta.trace",
            "transforms.h.operation": "copy",
            "transforms.u.type": "ExtractNewRecordState",
            "transforms.u.add.fields": "meta.trace",
        }
    )


@pytest.mark.parametrize("field", ["rs", "source.rs", "rs:replica_set"])
def test_the_replica_set_needs_the_former_format_of_events(field: str) -> None:
    options = {**MONGODB, **DOCUMENTS, "transforms.u.add.fields": f"op,{field}"}
    warnings = [str(each) for each in parse_configuration(options).warnings]
    assert [each for each in warnings if "events have no source.rs" in each]
    former = {**options, "event.format.version": "2.5"}
    warnings = [str(each) for each in parse_configuration(former).warnings]
    assert not [each for each in warnings if "source.rs" in each]


def test_a_value_with_a_part_without_schema_has_no_schema() -> None:
    event = {
        "before": None,
        "after": '{"_id": 1}',
        "source": {"db": "shop", "collection": "items"},
        "op": "c",
    }
    entry = {
        "topic": "shop.items",
        "partition": None,
        "timestamp": None,
        "key": {"schema": None, "payload": {"id": "1"}},
        "value": {"schema": None, "payload": event},
        "headers": [],
    }
    outcomes = apply_json({**DOCUMENTS, "transforms.u.add.fields": "op,collection"}, [entry])
    assert outcomes[0] is not None
    assert outcomes[0]["value"] == {
        "schema": None,
        "payload": {"_id": 1, "__op": "c", "__collection": "items"},
    }
