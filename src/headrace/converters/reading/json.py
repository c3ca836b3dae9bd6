"""JSON as Kafka Connect's JsonConverter writes it, with schemas and without."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa

from headrace.connect.json_values import MAX_CELLS, Allowance, load_schema, load_value, quote
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.schema import SCHEMALESS, Schema, Type
from headrace.converters.json.values import JsonOptions
from headrace.converters.reading.kernels.envelope_kernel import (
    LEFT_TO_PYTHON,
    NO_VALUE,
    OPENED_BYTES,
    SPAN_BYTES,
    open_envelopes,
    schema_hash,
)
from headrace.converters.reading.kernels.images_kernel import JSON
from headrace.converters.reading.part import Opened, PartForm, without_forbidden_nulls
from headrace.converters.reading.texts import NO_SPAN, Texts, is_utf8, texts_of
from headrace.errors import HeadraceError

_MAX_SCHEMAS = 4096
"""The most schemas to remember; all are forgotten when there are more."""
_MAX_PARSED = 4_000
_REMEDY = "Write values as Kafka Connect's JsonConverter does."


class JsonReader:
    """A Reader (see `headrace.converters.reading.part`) of JSON.

    `prefix` is the prefix of its properties' names in error messages; `most_cells` is the limit for
    the values of one record.
    """

    def __init__(self, options: JsonOptions, prefix: str, most_cells: int = MAX_CELLS) -> None:
        self._options = options
        self._most_cells = most_cells
        self._prefix = prefix
        self._forget()
        if not options.schemas_enable:
            self._forms.append(self._form_of(SCHEMALESS))

    def _forget(self) -> None:
        self._forms: list[PartForm] = []
        self._known: dict[str, PartForm] = {}
        self._texts: list[np.ndarray] = []
        self._schemas = np.zeros((_MAX_SCHEMAS, 3), np.int64)

    def form(self, number: int) -> PartForm:
        """See Reader."""
        return self._forms[number]

    def open(self, array: pa.Array | None, topics: np.ndarray) -> Opened:
        """See Reader."""
        count = len(topics)
        texts = texts_of(array, count)
        errors = {
            index: _not_understood("is not UTF-8")
            for index in np.flatnonzero(~is_utf8(array, count)).tolist()
        }
        if not self._options.schemas_enable:
            return Opened(texts, np.where(texts.present, 0, NO_VALUE), errors)
        if len(self._texts) > _MAX_SCHEMAS // 2:
            self._forget()
        opened = np.empty((count, 3), np.int64)
        memory = list(texts.memory)
        self._open(texts.spans, topics, opened, errors)
        for index in np.flatnonzero(opened[:, 2] == LEFT_TO_PYTHON).tolist():
            if index not in errors:
                self._open_slowly(
                    texts.raw(index), opened[index : index + 1], memory, errors, index
                )
        numbers = opened[:, 2].copy()
        numbers[list(errors)] = NO_VALUE
        opened[numbers == NO_VALUE, 1] = NO_SPAN
        spans = np.ascontiguousarray(opened[:, :2])
        return Opened(Texts(spans, tuple(memory)), numbers, errors)

    def _open(
        self,
        spans: np.ndarray,
        topics: np.ndarray,
        opened: np.ndarray,
        errors: dict[int, HeadraceError],
        first: int = 0,
    ) -> None:
        """Fill `opened`; `first` is the number of the first record in `errors`."""
        hints = np.full(int(topics.max()) + 1 if len(topics) else 0, -1, np.int64)
        topics = np.ascontiguousarray(topics, np.int64)
        spans_done = 0
        while spans_done < len(spans):
            spans_done += open_envelopes(
                address_of(spans) + SPAN_BYTES * spans_done,
                len(spans) - spans_done,
                address_of(topics) + 8 * spans_done,
                address_of(hints),
                address_of(self._schemas),
                len(self._texts),
                address_of(opened) + OPENED_BYTES * spans_done,
            )
            if spans_done == len(spans):
                return
            try:
                self._add(Texts(opened[spans_done : spans_done + 1, :2], ()).raw(0))
            except HeadraceError as error:
                errors[first + spans_done] = error
                opened[spans_done] = (0, NO_SPAN, NO_VALUE)
                spans_done += 1

    def _add(self, text: bytes) -> None:
        """Remember the text of a schema; texts of equal schemas share their form."""
        if len(self._texts) == _MAX_SCHEMAS:
            raise HeadraceError(
                "reading.too_many_schemas",
                f"the records of one batch have more than {_MAX_SCHEMAS} schemas",
                "Set spark.sql.execution.arrow.maxRecordsPerBatch to a smaller number.",
            )
        try:
            described = json.loads(text)
        except (ValueError, RecursionError):
            raise _not_understood("has a schema that is not JSON") from None
        try:
            spelled = json.dumps(described)
            if spelled not in self._known:
                self._known[spelled] = self._form_of(load_schema(described))
        except RecursionError:
            raise _not_understood("has a schema that is nested too deep") from None
        self._forms.append(self._known[spelled])
        memory = np.frombuffer(text + bytes(PADDING), np.uint8).copy()
        self._texts.append(memory)
        address = address_of(memory)
        entry = (address, len(text), schema_hash(address, len(text)))
        self._schemas[len(self._texts) - 1] = entry

    def _open_slowly(
        self,
        raw: bytes,
        opened: np.ndarray,
        memory: list[object],
        errors: dict[int, HeadraceError],
        index: int,
    ) -> None:
        """Open a record whose text is not laid out as the converter writes it."""
        try:
            text = self._respelled(raw)
        except HeadraceError as error:
            errors[index] = error
            return
        respelled = np.frombuffer(text + bytes(PADDING), np.uint8).copy()
        memory.append(respelled)
        span = np.array([[address_of(respelled), len(text)]], np.int64)
        self._open(span, np.zeros(1, np.int64), opened, errors, index)

    def _respelled(self, raw: bytes) -> bytes:
        try:
            document = json.loads(raw, parse_float=_Number, parse_int=_Number)
        except (ValueError, RecursionError):
            raise _not_understood("is not JSON") from None
        if not isinstance(document, dict) or set(document) != {"schema", "payload"}:
            raise HeadraceError(
                "reading.no_schema",
                'is JSON without a schema; with schemas it has the members "schema" and "payload" '
                "and no others",
                f"Set {self._prefix}.schemas.enable=false, or name the converter that wrote it.",
            )
        try:
            schema, payload = _spelled(document["schema"]), _spelled(document["payload"])
            return f'{{"schema":{schema},"payload":{payload}}}'.encode()
        except RecursionError:
            raise _not_understood("is nested too deep") from None
        except UnicodeEncodeError:
            raise _not_understood("has an unpaired surrogate") from None

    def _form_of(self, schema: Schema) -> PartForm:
        fills_nulls = self._options.replace_null_with_default
        parse_float, parse_int = (float, int) if schema.type is Type.ANY else (Decimal, _whole)

        def load(raw: bytes) -> object:
            try:
                payload = json.loads(raw, parse_float=parse_float, parse_int=parse_int)
            except (ValueError, ArithmeticError, RecursionError):
                raise _not_understood("is not valid JSON") from None
            try:
                value = load_value(schema, payload, Allowance(self._most_cells, len(raw)))
                return without_forbidden_nulls(schema, value, fills_nulls=fills_nulls)
            except RecursionError:
                raise _not_understood("is nested too deep") from None

        return PartForm(schema, JSON, load, fills_nulls=fills_nulls, most_cells=self._most_cells)


def _whole(text: str) -> int | Decimal:
    """Return a whole number of JSON. Python refuses to parse more than 4,300 digits."""
    return int(text) if len(text) < _MAX_PARSED else Decimal(text)


class _Number(str):
    """A number as its text in the JSON."""

    __slots__ = ()


def _spelled(value: object) -> str:
    """JSON without white space; numbers keep their original text."""
    match value:
        case _Number():
            return str(value)
        case str():
            return quote(value)
        case dict():
            members = [f"{quote(name)}:{_spelled(item)}" for name, item in value.items()]
            return "{" + ",".join(members) + "}"
        case list():
            return "[" + ",".join(map(_spelled, value)) + "]"
    return json.dumps(value)


def _not_understood(message: str) -> HeadraceError:
    return HeadraceError("reading.not_understood", message, _REMEDY)
