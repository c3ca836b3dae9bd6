"""Hostile records between sound ones, through what a task of `headrace.transforms.apply` runs.

A record takes at most 2 CPU-seconds, 0.2 ms more for each field of its schema (a field is a column,
which costs the same for one row and for thousands), and 512 MB: a timer and a limit of the process
end what takes more. With `errors.tolerance=all` it becomes a record or a dead letter, and its
neighbours are what they are without it; without, it may raise a HeadraceError. What comes out is
what it says it is.
"""

from __future__ import annotations

import faulthandler
import io
import json
import os
import re
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

import fastavro
import pyarrow as pa
from numba.core.event import Event, Listener, register

from headrace.errors import HeadraceError
from headrace.spark.frames import task as frames
from tests.fuzz.hostile import records as hostile
from tests.fuzz.hostile.chains import CHAINS, OUTPUTS, Chain
from tests.fuzz.hostile.values import text

CPU_SECONDS = 2.0
CPU_SECONDS_PER_FIELD = 0.0002
MAX_MEMORY = 512 << 20
LETTERS = "letters"
_CODE = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)+")
_MAX_TASKS = 24
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
INPUT = pa.schema(
    [
        ("topic", pa.string()), ("partition", pa.int32()), ("key", pa.binary()),
        ("value", pa.binary()), ("headers", _HEADERS), ("timestamp", pa.int64()),
        ("number", pa.int32()),
    ]
)  # fmt: skip
OUTPUT = INPUT.set(5, pa.field("timestamp", pa.timestamp("us", "UTC")))


class SchemaServer(ThreadingHTTPServer):
    """The part of a schema registry's API that converters use; `schemas` by id."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.schemas: dict[int, str] = {}
        self.ids: dict[str, int] = {}
        self.daemon_threads = True
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add(self, schema: str) -> int:
        """The id of a schema."""
        number = self.ids.setdefault(schema, len(self.ids) + 1)
        self.schemas[number] = schema
        return number


class _Answers(BaseHTTPRequestHandler):
    server: SchemaServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        number = re.search(r"/schemas/ids/(\d+)", self.path)
        schema = self.server.schemas.get(int(number[1])) if number else None
        if schema is None:
            self._answer(404, {"error_code": 40403, "message": "Schema not found"})
        else:
            self._answer(200, {"schema": schema})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(200, {"id": self.server.add(body["schema"])})

    def _answer(self, status: int, body: object) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Logs nothing."""


class Limits(Listener):
    """Ends the process by SIGPROF after the CPU time of `on`; more than MAX_MEMORY is a
    MemoryError. Kernels that are compiled or loaded for the first time do not count."""

    def __init__(self) -> None:
        self._left = 0.0
        self._depth = 0
        register("numba:compiler_lock", self)

    @contextmanager
    def on(self, fields: int) -> Iterator[None]:
        """The limits hold inside, for a record whose schema has so many fields."""
        self._left = CPU_SECONDS + CPU_SECONDS_PER_FIELD * fields
        self._begin()
        try:
            yield
        finally:
            self._end()
            self._left = 0.0

    def on_start(self, event: Event) -> None:
        """The compiler begins."""
        self._depth += 1
        if self._depth == 1 and self._left:
            self._left = self._end()

    def on_end(self, event: Event) -> None:
        """The compiler is done."""
        self._depth -= 1
        if self._depth == 0 and self._left:
            self._begin()

    def _begin(self) -> None:
        with open("/proc/self/statm") as pages:
            used_bytes = int(pages.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used_bytes + MAX_MEMORY, resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_PROF, self._left)

    def _end(self) -> float:
        """The CPU time that is left."""
        left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return max(left, 0.001)


class Records:
    """`one` runs one input; raises AssertionError for another outcome."""

    def __init__(self) -> None:
        faulthandler.register(signal.SIGPROF, chain=True)
        self._limits = Limits()
        self._registry = SchemaServer()
        self._expected: dict[tuple[str, str], list[dict[str, Any]]] = {}

    def one(self, random: Random, planted: str | None) -> None:
        chain, output = random.choice(CHAINS), random.choice(tuple(OUTPUTS))
        record = self._record(random, chain)
        if planted == "slow":
            chain = CHAINS[0]
        properties = self._properties(chain, output)
        expected = self._sound(chain, output, properties)
        if random.randrange(4):
            batch = self._batch(record, chain)
            with self._limits.on(self._fields_of(record)):
                _plant(planted)
                rows = run(properties, batch)
            self._check_tolerated(rows, record, expected, chain, output)
        else:
            strict = properties | {"errors.tolerance": "none"}
            batch = pa.RecordBatch.from_pylist([record], INPUT)
            with self._limits.on(self._fields_of(record)):
                _plant(planted)
                try:
                    rows = run(strict, batch)
                except HeadraceError as error:
                    _check_error(error)
                    assert planted != "wrong", "planted"
                    return
            for row in rows:
                self._check_row(row, output)
        if planted == "wrong":
            raise AssertionError("planted")

    def _properties(self, chain: Chain, output: str) -> dict[str, str]:
        properties = {
            "headrace.input.topic": "s.t", "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": LETTERS, "key.converter.schemas.enable": "false",
            **OUTPUTS[output], **chain.properties,
        }  # fmt: skip
        return {n: value.replace("REGISTRY", self._registry.url) for n, value in properties.items()}

    def _batch(self, record: dict[str, Any] | None, chain: Chain) -> pa.RecordBatch:
        rows = [self._sound_record(chain, 0), record, self._sound_record(chain, 2)]
        return pa.RecordBatch.from_pylist([row for row in rows if row is not None], INPUT)

    def _sound(self, chain: Chain, output: str, properties: dict[str, str]) -> list[dict[str, Any]]:
        """The output for the sound records alone; this call also compiles what the chain needs."""
        place = (chain.name, output)
        if place not in self._expected:
            if len(frames._tasks) > _MAX_TASKS:
                frames._tasks.clear()
            self._expected[place] = run(properties, self._batch(None, chain))
        return self._expected[place]

    def _sound_record(self, chain: Chain, number: int) -> dict[str, Any]:
        key, value = chain.sound(number)
        if chain.form == "avro":
            schema = {"type": "record", "name": "sound", "fields": [{"name": "id", "type": "long"}]}
            value = self._framed(json.dumps(schema), bytes([2 * number]))
        return {"topic": "s.t", "key": key, "value": value, "timestamp": 5, "number": number}

    def _framed(self, schema: str, raw: bytes) -> bytes:
        return b"\0" + self._registry.add(schema).to_bytes(4, "big") + raw

    def _fields_of(self, record: dict[str, Any]) -> int:
        """The number of fields that the record's schemas name, at most."""
        names = sum((record[part] or b"").count(b'"field"') for part in ("key", "value"))
        number = int.from_bytes((record["value"] or b"")[1:5], "big")
        return names + self._registry.schemas.get(number, "").count('"name"')

    def _record(self, random: Random, chain: Chain) -> dict[str, Any]:
        """The hostile one."""
        key: bytes | None
        value: bytes | None
        match chain.form:
            case "avro":
                value = self._framed(*hostile.avro(random))
                key = text(random).encode(errors="surrogatepass")
            case "documents":
                value = hostile.with_schema(random, hostile.document_event(random))
                key = hostile.with_schema(random, hostile.document_key(random))
            case "plain_documents":
                value = hostile.limited_bytes(
                    random, hostile.dumped(hostile.document_event(random)[1])
                )
                key = hostile.limited_bytes(random, hostile.dumped(hostile.document_key(random)[1]))
            case "plain":
                value, key = hostile.without_schema(random), hostile.without_schema(random)
            case _:
                value, key = hostile.with_schema(random), chain.sound(1)[0]
                if random.randrange(4) == 0:
                    key = hostile.with_schema(random)
        if random.randrange(60) == 0:
            key, value = random.choice(((None, value), (key, None), (b"", b""), (b"\xff", value)))

        def header() -> bytes | None:
            plain = random.choice((b"1", b'"x"', b"{}", b"\xff", None))
            if chain.form in ("plain", "plain_documents", "avro"):
                return plain
            return (
                hostile.with_schema(random, hostile.described(random))
                if random.randrange(3)
                else plain
            )

        return {
            "topic": "s.t", "key": key, "value": value, "number": 1,
            "headers": hostile.headers(random, header),
            "timestamp": random.choice((5, None, 0, -1, 1 << 62, -(1 << 63), 253402300800000)),
        }  # fmt: skip

    def _check_tolerated(
        self, rows: list[dict[str, Any]], record: dict[str, Any],
        expected: list[dict[str, Any]], chain: Chain, output: str,
    ) -> None:  # fmt: skip
        others = [row for row in rows if row["number"] != 1]
        assert others == expected, "the neighbours of the record are others"
        outcomes = [row for row in rows if row["number"] == 1]
        assert len(outcomes) == 1 or (not outcomes and chain.leaves_out(record["value"])), (
            f"{len(outcomes)} outcomes of one record"
        )
        for row in outcomes:
            if row["topic"] == LETTERS:
                assert (row["key"], row["value"]) == (record["key"], record["value"])
                named = {each["key"]: each["value"] for each in row["headers"]}
                assert b"Error" in named["__connect.errors.exception.class.name"]
            else:
                self._check_row(row, output)

    def _check_row(self, row: dict[str, Any], output: str) -> None:
        if row["value"] is None:
            return
        if output.startswith("avro"):
            number = int.from_bytes(row["value"][1:5], "big")
            described = json.loads(self._registry.schemas[number])
            if "bytes" in (described, *_members(described)):
                return  # Confluent's serializer writes bytes alone as they are
            schema = fastavro.parse_schema(_without_logical_types(described))
            place = io.BytesIO(row["value"][5:])
            fastavro.schemaless_reader(place, schema, None)
            assert not place.read(1), "bytes follow the value"
        elif output.startswith("bytes"):
            return
        else:
            value_text = row["value"].decode()
            if output.startswith(("json", "cloudevents")):
                json.loads(value_text, parse_constant=_no_json, parse_int=str, parse_float=str)


def _members(schema: Any) -> list[Any]:
    """The branches of a union, or the type of an object."""
    branches = schema if isinstance(schema, list) else [schema]
    return [each.get("type") if isinstance(each, dict) else each for each in branches]


def _no_json(word: str) -> object:
    raise AssertionError(f"{word} is not JSON")


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical_types(each) for each in schema]
    if isinstance(schema, dict):
        return {
            n: each if n in ("default", "symbols") else _without_logical_types(each)
            for n, each in schema.items()
            if n != "logicalType" and not n.startswith("connect.")
        }
    return schema


def _check_error(error: HeadraceError) -> None:
    assert _CODE.fullmatch(error.code), error.code
    assert not error.retriable, str(error)
    str(error).encode()


def run(properties: dict[str, str], batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows that a task makes of a batch."""
    return [
        row
        for part in frames.run_frame(properties, OUTPUT, [batch])
        # Python has no dates after the year 9999.
        for row in part.set_column(5, "timestamp", part.column(5).cast(pa.int64())).to_pylist()
    ]


def _plant(planted: str | None) -> None:
    if planted == "slow":
        while True:
            os.getpid()
    if planted == "large":
        bytes(2 * MAX_MEMORY)
