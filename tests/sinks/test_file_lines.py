"""Event columns to JSON lines."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.sinks.lines import LineWriter

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
JSON = st.one_of(
    st.none(), st.recursive(
        st.one_of(st.booleans(), st.integers(), st.text()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5,
    ).map(lambda value: json.dumps(value, ensure_ascii=False)),
)  # fmt: skip
HEADER_LISTS = st.none() | st.lists(st.tuples(st.text(), JSON), max_size=4)
ROWS = st.lists(st.tuples(st.text(), JSON, JSON, HEADER_LISTS), min_size=1, max_size=20)


STRING = pa.string()


def batch_of(rows, *, text=STRING):
    headers = [
        None
        if headers is None
        else [{"key": name, "value": v if v is None else v.encode()} for name, v in headers]
        for *_, headers in rows
    ]
    return pa.record_batch({
        "topic": pa.array([row[0] for row in rows], text),
        "partition": pa.nulls(len(rows), pa.int32()),
        "key": pa.array([row[1] for row in rows], text),
        "value": pa.array([row[2] for row in rows], text),
        "headers": pa.array(headers, HEADERS),
        "sequence": pa.array([f"{i:012x}" for i in range(len(rows))], text),
    })  # fmt: skip


def expected_line(topic, key, value, headers):
    names = ",".join(
        f"{json.dumps(name, ensure_ascii=False)}:{'null' if v is None else v}"
        for name, v in headers or ()
    )
    return (
        f'{{"topic":{json.dumps(topic, ensure_ascii=False)},"key":{key or "null"},'
        f'"value":{value or "null"},"headers":{{{names}}}}}\n'
    )


def normal(lines):
    """Escapes of control characters have several spellings; the rest compares as text."""
    return [
        line.replace("\\n", "\\u000a")
        .replace("\\t", "\\u0009")
        .replace("\\r", "\\u000d")
        .replace("\\b", "\\u0008")
        .replace("\\f", "\\u000c")
        for line in lines
    ]


@settings(deadline=None)  # the first call compiles
@given(ROWS, st.integers(0, 5))
def test_every_row_becomes_one_line_of_json(rows, cut):
    batch = batch_of(rows).slice(min(cut, len(rows) - 1))
    rows = rows[min(cut, len(rows) - 1) :]
    writer = LineWriter(with_ends=True)
    text = bytes(writer.render(batch)).decode()
    lines = text.split("\n")[:-1]
    assert normal(lines) == normal([expected_line(*row)[:-1] for row in rows])
    assert [json.loads(line)["topic"] for line in lines] == [row[0] for row in rows]
    ends = np.cumsum([len(line.encode()) + 1 for line in lines])
    assert list(writer.ends) == list(ends)


TEXTS = st.none() | st.text()
PLAIN = st.lists(
    st.tuples(st.text(), TEXTS, TEXTS, st.lists(st.tuples(st.text(), TEXTS), max_size=4)),
    min_size=1,
    max_size=20,
)


@settings(deadline=None)
@given(PLAIN, st.sets(st.sampled_from(["key", "value", "header"])))
def test_plain_texts_become_strings_whatever_they_look_like(rows, texts):
    def shown(role, text):
        return text if text is None or role in texts else json.dumps(text)

    batch = batch_of(
        [
            (topic, shown("key", key), shown("value", value),
             [(name, shown("header", text)) for name, text in headers])
            for topic, key, value, headers in rows
        ]
    )  # fmt: skip
    lines = bytes(LineWriter(texts=texts).render(batch)).decode().split("\n")[:-1]
    read = [json.loads(line, object_pairs_hook=list) for line in lines]
    assert read == [
        [("topic", topic), ("key", key), ("value", value), ("headers", headers)]
        for topic, key, value, headers in rows
    ]


@pytest.mark.parametrize("text", ["7", "007", "abc", "true", "null", '{"a":1}', "", '"'])
def test_a_plain_text_that_looks_like_json_is_a_string_as_well(text):
    line = bytes(LineWriter(texts=["key"]).render(batch_of([("t", text, "1", None)])))
    assert json.loads(line) == {"topic": "t", "key": text, "value": 1, "headers": {}}


def test_large_types_give_the_same_lines():
    rows = [("a", '{"id":1}', None, [("h", "1")]), ("b", None, "[]", None)]
    small = bytes(LineWriter().render(batch_of(rows)))
    assert bytes(LineWriter().render(batch_of(rows, text=pa.large_string()))) == small


def test_columns_that_hold_only_nulls_are_written():
    batch = batch_of([("t", None, None, None)] * 3)
    assert bytes(LineWriter().render(batch)).count(b'"key":null,"value":null,"headers":{}}') == 3


@pytest.mark.parametrize("text", ["", "plain", "\u00e9"])
def test_a_value_that_is_not_json_is_named(text):
    with pytest.raises(HeadraceError, match=r"topic t at .*file\.not_json"):
        LineWriter().render(batch_of([("t", None, text, None)]))


def test_a_sequence_that_falls_is_noticed_across_batches():
    batch = batch_of([("t", None, "1", None)] * 3)
    writer = LineWriter()
    writer.render(batch)
    assert writer.sorted
    writer.render(batch)
    assert not writer.sorted
    assert (writer.first, writer.last) == (b"000000000000", b"000000000002")
