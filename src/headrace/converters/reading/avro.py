"""Avro in Confluent's wire format, with schemas from a registry."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from headrace.connect.json_values import MAX_CELLS
from headrace.converters.reading.avro_schemas import load_avro, read_value
from headrace.converters.reading.kernels.images_kernel import AVRO
from headrace.converters.reading.part import NO_VALUE, Opened, PartForm
from headrace.converters.reading.texts import NO_SPAN, Texts, texts_of
from headrace.errors import HeadraceError
from headrace.kafka.registry import Registry

_HEAD_BYTES = 5  # zero, and the schema's id, big-endian


class AvroReader:
    """A Reader (see `headrace.converters.reading.part`) whose schema numbers are the ids in the
    registry.

    Each worker asks the registry once for each id. `most_cells` is the limit for the values of one
    record.
    """

    def __init__(self, registry: Registry, most_cells: int = MAX_CELLS) -> None:
        self._registry = registry
        self._most_cells = most_cells
        self._forms: dict[int, PartForm] = {}

    def form(self, number: int) -> PartForm:
        """See Reader."""
        return self._forms[number]

    def open(self, array: pa.Array | None, topics: np.ndarray) -> Opened:
        """See Reader. Raises HeadraceError of the registry where it does not answer."""
        texts = texts_of(array, len(topics))
        spans, present = texts.spans.copy(), texts.present
        numbers = np.full(len(topics), NO_VALUE, np.int64)
        errors: dict[int, HeadraceError] = {}
        framed = present & (spans[:, 1] >= _HEAD_BYTES)
        if framed.any():
            (memory,) = texts.memory
            assert isinstance(memory, np.ndarray)
            places = spans[framed, 0] - int(memory.ctypes.data)
            head = memory[places[:, np.newaxis] + np.arange(_HEAD_BYTES)].astype(np.int64)
            numbers[framed] = head[:, 1:] @ np.array([1 << 24, 1 << 16, 1 << 8, 1])
            framed[framed] = head[:, 0] == 0
        for index in np.flatnonzero(present & ~framed).tolist():
            errors[index] = HeadraceError(
                "reading.not_understood",
                "is not Avro in Confluent's wire format",
                "Name the converter that wrote it.",
            )
        for number in np.unique(numbers[framed]).tolist():
            try:
                self._learn(number)
            except HeadraceError as error:
                if error.retriable or error.code in ("registry.not_allowed", "registry.no_client"):
                    raise
                members = np.flatnonzero(framed & (numbers == number)).tolist()
                errors |= dict.fromkeys(members, error)
        numbers[~framed] = NO_VALUE
        numbers[list(errors)] = NO_VALUE
        spans[:, 0] += _HEAD_BYTES
        spans[:, 1] -= _HEAD_BYTES
        spans[numbers == NO_VALUE, 1] = NO_SPAN
        return Opened(Texts(spans, texts.memory), numbers, errors)

    def _learn(self, number: int) -> None:
        if number in self._forms:
            return
        kind = load_avro(self._registry.by_id(number))
        self._forms[number] = PartForm(
            kind.schema, AVRO, partial(read_value, kind, most_cells=self._most_cells),
            kind.unions, most_cells=self._most_cells,
        )  # fmt: skip
