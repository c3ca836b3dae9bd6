"""`headrace transform`: a chain over lines of JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from headrace.cli import main
from tests.docs.pages import ROOT, block, blocks

GUIDE = "docs/guides/command-line.md"
CHAIN = """
connector.class=postgresql
transforms=route,required
transforms.route.type=RegexRouter
transforms.route.regex=(.*)
transforms.route.replacement=$1-x
transforms.required.type=org.apache.kafka.connect.transforms.InsertField$Value
transforms.required.partition.field=p!
transforms.required.predicate=gone
transforms.required.negate=true
predicates=gone
predicates.gone.type=RecordIsTombstone
"""
VALUE = {"schema": {"type": "struct", "fields": [], "optional": False}, "payload": {}}


def record(**members: object) -> str:
    return json.dumps({"topic": "t", "key": None, "value": None, "headers": []} | members)


def test_each_line_is_a_record_a_null_or_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chain.properties").write_text(CHAIN)
    lines = [record(), record(value=VALUE), record(value=VALUE, partition=3), '{"topic": 1}']
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n".join(lines)))
    assert main(["transform", str(tmp_path / "chain.properties")]) == 0
    captured = capsys.readouterr()
    assert captured.err == "warning: 2 of 4 records failed\n"
    records = [json.loads(line) for line in captured.out.splitlines()]
    assert len(records) == 4
    assert records[0] == {"topic": "t-x", "partition": None, "timestamp": None, "key": None,
                          "value": None, "headers": []}  # fmt: skip
    assert records[1]["error"].startswith("transforms.required: a record has no partition")
    assert records[2]["value"]["payload"] == {"p": 3}
    assert "connect.record_not_understood" in records[3]["error"]
    monkeypatch.setattr("sys.stdin", io.StringIO(record()))
    assert main(["transform", str(tmp_path / "chain.properties")]) == 0
    assert capsys.readouterr().err == ""


def test_the_guides_records_become_what_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (properties,) = blocks(GUIDE, "properties")
    records, page_output = blocks(GUIDE, "json")
    (command,) = block(GUIDE, "headrace transform mine.properties").commands
    _, *words, _, _ = command.split()
    monkeypatch.chdir(tmp_path)
    Path(words[-1]).write_text(properties.text)
    monkeypatch.setattr("sys.stdin", io.StringIO(records.text))
    assert main(words) == 0
    captured = capsys.readouterr()
    for line, of_page in zip(captured.out.splitlines(), page_output.text.splitlines(), strict=True):
        assert line.startswith(of_page.removesuffix(' …"}'))
    assert captured.err.strip() in (ROOT / GUIDE).read_text()


def test_a_line_that_is_no_json_is_an_error_in_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain, records = tmp_path / "chain.json", tmp_path / "records.jsonl"
    lines = ["\ufeff" + record(), "none", "[" * 100_000, "1" * 5_000, '"\\ud800"', record()]
    whole = "\n".join(lines).encode() + b'\n{"topic": "\xff"}\n' + record(topic="u").encode()
    records.write_bytes(whole)
    chain.write_text("{}")
    assert main(["transform", str(chain), str(records)]) == 0
    transformed_records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each.get("topic", "error") for each in transformed_records] == [
        "t",
        *["error"] * 4,
        "t",
        "error",
        "u",
    ]
    assert "line 2 of the records is not JSON" in transformed_records[1]["error"]


def test_a_wrong_chain_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain, records = tmp_path / "chain.json", tmp_path / "records.jsonl"
    records.write_text(record())
    chain.write_text('{"transforms": "a,b", "transforms.a.type": "Gone"}')
    assert main(["transform", str(chain), str(records)]) == 1
    error = capsys.readouterr().err
    assert "transforms.a.type" in error
    assert "transforms.b.type is missing" in error


def test_a_chain_that_names_nearly_what_there_is_gets_a_suggestion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = tmp_path / "chain.properties"
    chain.write_text(
        "transforms=a,b\ntransforms.a.type=no_such_orders:large\n"
        "transforms.b.type=KafkaFilter\ntransforms.b.predicate=order\n"
        "predicates=orders\npredicates.orders.type=RecordIsTombstone\n"
    )
    assert main(["transform", str(chain)]) == 1
    error = capsys.readouterr().err
    assert "transforms.b.predicate = 'order' is not among predicates; did you mean orders?" in error
    assert "Set transforms.b.predicate=orders, or add order to predicates" in error
    assert "No module named 'no_such_orders'" in error
    assert "PYTHONPATH=. lets Python look into the current folder" in error


EVENT = {"before": None, "after": {"id": 1, "amount": 120}, "source": {"lsn": 17}, "op": "c",
         "ts_ms": 3}  # fmt: skip
ROW = {"type": "struct", "fields": [{"field": "id", "type": "int32"}], "optional": False}


def test_lines_that_events_wrote_are_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "chain.properties").write_text(
        "transforms=unwrap,route\n"
        "transforms.unwrap.type=ExtractNewRecordState\n"
        "transforms.unwrap.add.fields=op\n"
        "transforms.route.type=RegexRouter\n"
        "transforms.route.regex=shop\\\\.(.*)\n"
        "transforms.route.replacement=$1\n"
    )
    lines = [
        {"topic": "shop.orders", "key": {"id": 1}, "value": EVENT, "headers": {}},
        {"topic": "shop.orders", "key": {"schema": ROW, "payload": {"id": 1}}, "value": EVENT,
         "headers": {"trace": "a1", "n": {"schema": {"type": "int32"}, "payload": 2}}},
        {"topic": "shop.orders", "key": {"id": 1}, "value": None, "headers": {}},
        {"topic": "shop.texts", "key": "a", "value": EVENT, "headers": {}},
    ]  # fmt: skip
    records = tmp_path / "events.jsonl"
    records.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["transform", str(tmp_path / "chain.properties"), str(records)]) == 0
    captured = capsys.readouterr()
    first, second, third, fourth = (json.loads(line) for line in captured.out.splitlines())
    assert captured.err == ""
    assert (first["topic"], first["key"]["payload"]) == ("orders", {"id": 1})
    assert first["value"]["payload"] == {"id": 1, "amount": 120, "__op": "c"}
    assert second["key"]["schema"]["fields"][0]["type"] == "int32"
    assert [(each["name"], each["payload"]) for each in second["headers"]] == [
        ("trace", "a1"), ("n", 2)]  # fmt: skip
    assert third is None
    assert fourth["key"]["payload"] == "a"


OUTBOX = {"id": "a", "aggregatetype": "order", "aggregateid": "7", "type": "made", "payload": "{}"}
OUTBOX_EVENT = {"before": None, "after": OUTBOX, "source": {"lsn": 1}, "op": "c"}


def transformed(
    folder: Path, capsys: pytest.CaptureFixture[str], chain: str, *lines: object
) -> tuple[list[dict], str]:
    (folder / "chain.properties").write_text(chain)
    records = folder / "records.jsonl"
    records.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["transform", str(folder / "chain.properties"), str(records)]) == 0
    captured = capsys.readouterr()
    return [json.loads(line) for line in captured.out.splitlines()], captured.err


@pytest.mark.parametrize(
    "kind",
    [
        "outbox.EventRouter",
        "ExtractChangedRecordState",
        "TimezoneConverter",
        "SwapGeometryCoordinates",
        "ExtractSchemaToNewRecord",
        "partitions.PartitionRouting",
    ],
)
def test_events_without_schemas_are_named_where_a_transform_needs_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    chain = (
        f"transforms=o\ntransforms.o.type=io.debezium.transforms.{kind}\n"
        "transforms.o.converted.timezone=UTC\ntransforms.o.partition.topic.num=2\n"
        "transforms.o.partition.payload.fields=op\n"
    )
    line = {"topic": "shop.outbox", "key": {"id": 1}, "value": OUTBOX_EVENT, "headers": {}}
    (transformed_record, _), error_output = transformed(
        tmp_path, capsys, chain, line, json.loads(record())
    )
    assert transformed_record["value"]["payload"] == OUTBOX_EVENT
    assert (
        "warning: 1 of 2 records are change events without a schema; transforms.o" in error_output
    )
    assert "remedy: Write the events with schemas" in error_output
    assert "value.converter.schemas.enable=true" in error_output


@pytest.mark.parametrize("router", ["ByLogicalTableRouter", "ToLogicalTopicRouter"])
def test_a_transform_of_structs_says_that_a_part_has_no_schema(
    router: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = (
        f"transforms=o\ntransforms.o.type={router}\n"
        "transforms.o.topic.regex=(.*)\ntransforms.o.topic.replacement=x\n"
    )
    line = {"topic": "shop.outbox", "key": {"id": 1}, "value": OUTBOX_EVENT, "headers": {}}
    (transformed_record,), _ = transformed(tmp_path, capsys, chain, line)
    assert (
        f"the key of records of shop.outbox has no schema; {router}" in transformed_record["error"]
    )
    assert "key.converter.schemas.enable=true" in transformed_record["error"]


def test_an_event_may_leave_out_its_headers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = "transforms=u\ntransforms.u.type=ExtractNewRecordState\n"
    line = {"topic": "shop.orders", "key": {"id": 1}, "value": EVENT}
    (transformed_record,), error_output = transformed(tmp_path, capsys, chain, line)
    assert error_output == ""
    assert transformed_record["key"]["payload"] == {"id": 1}
    assert transformed_record["value"]["payload"] == {"id": 1, "amount": 120}
    assert transformed_record["headers"] == []


def test_warnings_of_the_chain_look_like_those_of_other_verbs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = "transforms=u\ntransforms.u.type=ExtractNewRecordState\ntransforms.u.zebra=1\n"
    _, error_output = transformed(tmp_path, capsys, chain, json.loads(record()))
    first, second = error_output.splitlines()
    assert first == (
        "warning: transforms.u.zebra is not a property of transforms.u [config.unknown_property]"
    )
    assert second == "remedy: Remove transforms.u.zebra."
