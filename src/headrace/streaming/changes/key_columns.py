"""The key columns of a relation and their rendering, for kernels and in Python."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.properties.modes import ConverterName
from headrace.connect.encoding import FIRST_DOCUMENT, Encoding
from headrace.connect.kernels.loading import address_of_kernel
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Cell
from headrace.connect.schema import Type
from headrace.converters.json.kernels.binary import encode_cell
from headrace.converters.json.values import JsonOptions, render, render_cell
from headrace.debezium.naming.topics import topic_hash
from headrace.documents.dialects import DIALECTS
from headrace.documents.kernels import id_kernel
from headrace.documents.kernels.cells import put_document
from headrace.documents.kernels.id_kernel import id_hash
from headrace.errors import HeadraceError
from headrace.streaming.changes.kernels import key_kernel
from headrace.streaming.facts import EventSettings, Facts
from headrace.transforms.reading import chain_of
from headrace.transforms.transform import Ordering

_AS_SENT = (Encoding.RAW, Encoding.STRING)
_ID_FORMS: Mapping[Ordering | None, int] = {
    Ordering.ID_VALUES: id_kernel.VALUES,
    Ordering.ID_TEXTS: id_kernel.TEXTS,
    Ordering.ID_NUMBERS: id_kernel.NUMBERS,
}
assert key_kernel.AS_RENDERED not in _ID_FORMS.values()
Text = bytes | None
"""The text of a key in one column, without quotes; None is JSON's null."""


@dataclass(frozen=True)
class KeyRendering:
    """The rendering of keys. `settings` may accept a value that cannot be rendered: it is reported
    when its record is rendered."""

    settings: EventSettings
    converter: JsonOptions = field(default_factory=JsonOptions)
    merges_topics: bool = False
    """Whether transforms may make one topic of several: equal keys then have one hash, whatever
    their topics."""
    id_form: int = key_kernel.AS_RENDERED
    """The form of an `_id` after transforms; if it is not that of the log, one of
    `headrace.documents.kernels.id_kernel`."""
    joins_texts: bool = False
    """Whether the converter writes the columns of a key one after the other, without quotes."""

    @staticmethod
    def of(settings: EventSettings, config: ConnectorConfig) -> KeyRendering:
        """Return the rendering of a configuration."""
        chain = chain_of(config)
        return KeyRendering(
            settings,
            JsonOptions(
                # Converters other than JSON always show a default in place of a null.
                replace_null_with_default=config.key_converter_replace_null_with_default
                or config.converter("key") is not ConverterName.JSON,
                decimal_numeric=str(config.key_converter_decimal_format) == "NUMERIC",
            ),
            merges_topics=chain.merges_topics,
            id_form=_ID_FORMS.get(chain.id_ordering, key_kernel.AS_RENDERED),
            joins_texts=config.converter("key") is ConverterName.STRING,
        )

    def topic_hash(self, topic: str) -> int:
        """Return the beginning of the hashes of a topic's keys."""
        return 0 if self.merges_topics else topic_hash(topic)

    def columns(self, facts: Facts) -> KeyColumns:
        """Return the key columns of a relation."""
        return KeyColumns(facts, self)

    def forms(self, cells: Sequence[Cell]) -> list[int]:
        """Return the form that is hashed per column; see `key_kernel.FORM`."""
        types = [cell.schema.type for cell in cells]
        if self.joins_texts and (
            any(kind in (Type.ARRAY, Type.MAP) for kind in types)
            or (len(types) > 1 and Type.STRING in types)
        ):
            # A text may contain the separator of columns or elements.
            return [key_kernel.NOTHING] * len(cells)
        return [
            self.id_form if cell.encoding in DIALECTS else key_kernel.AS_RENDERED for cell in cells
        ]


def spreads_keys(config: ConnectorConfig) -> bool:
    """Whether records of a range may be distributed over slices by their keys: transforms and the
    converter make a key of the row's key alone."""
    chain, converter = chain_of(config), config.converter("key")
    ordering = chain.ordering
    shows_null = not config.key_converter_replace_null_with_default
    if ordering is Ordering.NONE or (shows_null and chain.changes_keys):
        return False
    if converter is ConverterName.STRING:
        return ordering is Ordering.KEEPS_KEY
    options = config.converter_options("key")
    return not (converter is ConverterName.ROW and options.get("fields.unknown") == "drop")


def _without_quotes(text: bytes) -> Text:
    if text == b"null":
        return None
    if text[:1] == b'"':
        return str(json.loads(text)).encode("utf-8", "surrogatepass")
    return text


class KeyColumns:
    """The columns that make the key of a relation's events, in key order, without columns of types
    that events leave out."""

    def __init__(self, facts: Facts, rendering: KeyRendering) -> None:
        self._converter = rendering.converter
        self._cells = facts.key_cells(rendering.settings)
        self._null = [self._constant(cell, cell.null) for cell in self._cells]
        self._unavailable = [
            null if cell.unavailable is None else self._constant(cell, cell.unavailable)
            for cell, null in zip(self._cells, self._null, strict=True)
        ]
        self.table = np.zeros((len(self._cells), key_kernel.COLUMN_WORDS), np.int64)
        """The table for kernels; it points into memory that this object owns."""
        self._memory: list[np.ndarray] = []
        forms = rendering.forms(self._cells)
        for row, cell, form, null, unavailable in zip(
            self.table, self._cells, forms, self._null, self._unavailable, strict=True
        ):
            row[key_kernel.COLUMN] = cell.column
            row[key_kernel.ENCODING] = (
                key_kernel.AS_SENT if cell.encoding in _AS_SENT else int(cell.encoding)
            )
            row[key_kernel.PARAMETER] = cell.parameter
            row[key_kernel.FORM] = form
            row[key_kernel.NULL_TEXT], row[key_kernel.NULL_LENGTH] = self._place(null)
            row[key_kernel.UNAVAILABLE_TEXT], row[key_kernel.UNAVAILABLE_LENGTH] = self._place(
                unavailable
            )

    def __len__(self) -> int:
        return len(self._cells)

    def _constant(self, cell: Cell, value: object) -> Text:
        if value is None and not cell.schema.optional and cell.schema.default is None:
            return None
        return _without_quotes(render(cell.schema, value, self._converter).encode())

    def _place(self, text: Text) -> tuple[int, int]:
        if text is None:
            return 0, key_kernel.NO_TEXT
        memory = np.frombuffer(text + bytes(PADDING), np.uint8)
        self._memory.append(memory)
        return address_of(memory), len(text)

    def text(self, place: int, raw: bytes) -> Text:
        """Return the key's text for a cell's text in its column at `place`."""
        cell = self._cells[place]
        if cell.encoding in _AS_SENT:
            return raw
        try:
            return _without_quotes(render_cell(cell, raw, self._converter))
        except HeadraceError:
            return b"\0" + raw  # no event shows this key

    def key(self, cells: Sequence[bytes | None], unavailable: bytes) -> tuple[Text, ...]:
        """Return the key of a row; None is null, `unavailable` (the object) a cell that is not in
        the log."""
        texts: list[Text] = []
        for place, cell in enumerate(self._cells):
            raw = cells[cell.column]
            if raw is None:
                texts.append(self._null[place])
            elif raw is unavailable:
                texts.append(self._unavailable[place])
            else:
                texts.append(self.text(place, raw))
        return tuple(texts)


class KeyScratch:
    """The scratch memory of the key kernels, and the texts in it that Python renders."""

    def __init__(self, memory: np.ndarray | None = None) -> None:
        """Use `memory` (uint8) if it is given."""
        if memory is None:
            memory = np.empty(key_kernel.SCRATCH + PADDING, np.uint8)
        self.memory = memory
        self._count = memory[key_kernel.RENDERED :][:8].view(np.int64)
        self._lacking = memory[key_kernel.LACKING :][:8].view(np.int64)
        self._entries = (
            memory[key_kernel.ENTRIES : key_kernel.SCRATCH]
            .view(np.int64)
            .reshape(-1, key_kernel.ENTRY_WORDS)
        )
        self._called = memory[key_kernel.CALLED : key_kernel.ENTRIES].view(np.int64)
        self._count[0] = self._lacking[0] = 0
        self._called[:] = 0
        self._owners: dict[int, tuple[KeyColumns, int]] = {}
        self._texts: list[np.ndarray] = []

    def know(self, columns: KeyColumns) -> None:
        """Add columns whose cells the kernels meet, and load the kernels that render them."""
        encodings, forms = columns.table[:, key_kernel.ENCODING], columns.table[:, key_kernel.FORM]
        if ((encodings >= 0) & (encodings < FIRST_DOCUMENT)).any():
            self._called[key_kernel.ENCODE_CELL] = address_of_kernel(encode_cell)
        if (encodings >= FIRST_DOCUMENT).any():
            self._called[key_kernel.PUT_DOCUMENT] = address_of_kernel(put_document)
        if (forms > key_kernel.AS_RENDERED).any():
            self._called[key_kernel.HASH_ID] = address_of_kernel(id_hash)
        for place in range(len(columns)):
            self._owners[address_of(columns.table[place])] = columns, place

    @property
    def lacks(self) -> bool:
        """Whether a kernel stopped because of a missing text."""
        return bool(self._lacking[0])

    def render(self) -> None:
        """Render the texts that the kernels missed in the last frame or row, over which they run
        again."""
        self._lacking[0] = 0
        entries = self._entries[: int(self._count[0])]
        if not entries[:, 2].any():
            self._texts.clear()  # those of the previous frame
        for entry in entries[entries[:, 2] == 0]:
            address, column, _, length = entry.tolist()
            owner, place = self._owners[column]
            text = owner.text(place, ctypes.string_at(address, length))
            memory = np.frombuffer((text or b"") + bytes(PADDING), np.uint8)
            self._texts.append(memory)
            rendered = address_of(memory), key_kernel.NO_TEXT if text is None else len(text)
            entries[(entries[:, 0] == address) & (entries[:, 1] == column), 2:] = rendered
