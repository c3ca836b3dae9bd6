"""Arrow arrays of Spark's types as VARIANT values: a metadata binary with the names of fields, and
a value binary per row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.converters.typed.kernels import variant_kernel as kernel
from headrace.errors import HeadraceError

MAX_BYTES = 128 << 20
"""The most bytes of a VARIANT that Spark reads."""

# Numbers of primitive types in the format; a value's first byte is four times that number.
_TRUE, _FALSE = 1 << 2, 2 << 2
_DATE, _INSTANT, _LOCAL, _BINARY, _STRING = 11 << 2, 12 << 2, 13 << 2, 15 << 2, 16 << 2
_NUMBERS = {
    pa.int8(): 3 << 2,
    pa.int16(): 4 << 2,
    pa.int32(): 5 << 2,
    pa.int64(): 6 << 2,
    pa.float64(): 7 << 2,
    pa.float32(): 14 << 2,
    pa.date32(): _DATE,
}
_DECIMALS = ((9, 4, 8 << 2), (18, 8, 9 << 2), (38, 16, 10 << 2))
"""Digits at most, bytes and header of the three decimals."""
_SORTED = 1 << 4
_VERSION = 1


@dataclass(frozen=True)
class Encoded:
    """Values one after the other: `ends` int64, one more than there are values; `data` uint8 with
    PADDING bytes after the last value."""

    ends: np.ndarray
    data: np.ndarray

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return int(self.ends[-1])


class Names:
    """The field names of an array's values, sorted by their UTF-8 bytes."""

    def __init__(self, array: pa.Array) -> None:
        self._names = sorted({name.encode() for name in _names_in(array)})
        self._places = {name: place for place, name in enumerate(self._names)}
        self.id_size = _size_of(max(len(self._names) - 1, 0))

    def place(self, name: str) -> int:
        """The number of a name."""
        return self._places[name.encode()]

    def places(self, names: pa.Array) -> np.ndarray:
        """The numbers of names (int32)."""
        encoded = names.dictionary_encode()
        by_index = [self.place(name) for name in encoded.dictionary.to_pylist()]
        places: np.ndarray = np.array(by_index, np.int32)[np.asarray(encoded.indices)]
        return places

    @property
    def metadata(self) -> bytes:
        """The metadata of every value with these names."""
        total = sum(map(len, self._names))
        size = _size_of(max(total, len(self._names)))
        ends = [0]
        for name in self._names:
            ends.append(ends[-1] + len(name))
        numbers = b"".join(number.to_bytes(size, "little") for number in (len(self._names), *ends))
        return bytes([_VERSION | _SORTED | (size - 1) << 6]) + numbers + b"".join(self._names)


def _size_of(number: int) -> int:
    return max(1, (number.bit_length() + 7) // 8)


def _names_in(array: pa.Array) -> set[str]:
    kind = array.type
    if pa.types.is_struct(kind):
        names = {field.name for field in kind}
        return names.union(*(_names_in(array.field(at)) for at in range(kind.num_fields)))
    if pa.types.is_map(kind):
        return set(_texts_of(array.keys).drop_null().unique().to_pylist()) | _names_in(array.items)
    return _names_in(array.values) if _is_list(kind) else set()


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _texts_of(keys: pa.Array) -> pa.Array:
    """Keys of maps as names of fields."""
    return pc.cast(keys, pa.large_string())


def variants(array: pa.Array) -> pa.Array:
    """VARIANT values of an array of `headrace.converters.typed.types` types: struct<value: binary,
    metadata: binary>, null where the array is null.

    Structs and maps become objects; the keys of maps become texts. Raises
    HeadraceError("converters.text_too_large") if a value has more than 128 MiB, or all of them have
    2 GiB.
    """
    names = Names(array)
    encoded = encode(array, names)
    largest = int(np.diff(encoded.ends).max(initial=0))
    if largest > MAX_BYTES:
        raise HeadraceError(
            "converters.text_too_large",
            f"a VARIANT has {largest} bytes; Spark reads at most {MAX_BYTES}",
            "Leave the large column out (column.exclude.list) or truncate it "
            "(column.truncate.to.LENGTH.chars, where LENGTH is a number of characters).",
        )
    total_bytes = encoded.nbytes
    if total_bytes >= 1 << 31:
        raise HeadraceError(
            "converters.text_too_large",
            f"{len(array)} VARIANT values have {total_bytes} bytes; an Arrow array holds less "
            "than 2 GiB",
            "Lower headrace.range.max.bytes.",
        )
    offsets = pa.py_buffer(encoded.ends.astype(np.int32))
    parts = [None, offsets, pa.py_buffer(encoded.data[: encoded.nbytes])]
    value = pa.BinaryArray.from_buffers(pa.binary(), len(array), parts)
    same = pa.array(np.zeros(len(array), np.int8))
    metadata = pa.array([names.metadata], pa.binary()).take(same)
    return pa.StructArray.from_arrays(
        [value, metadata], fields=list(VARIANT), mask=pc.is_null(array)
    )


VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)
"""The Arrow type by which Spark recognizes a VARIANT."""


def encode(array: pa.Array, names: Names) -> Encoded:
    """Encode an array without offset; a null becomes VARIANT's null."""
    kind, count = array.type, len(array)
    valid = np.ascontiguousarray(np.asarray(array.is_valid()), np.uint8)
    if pa.types.is_struct(kind):
        return _objects(array, valid, names)
    if pa.types.is_map(kind):
        return _maps(array, valid, names)
    if _is_list(kind):
        elements = encode(array.values, names)
        return _lists(_offsets_of(array), elements, valid, None, 0)
    if pa.types.is_boolean(kind):
        flags = np.asarray(pc.fill_null(array, False))
        data = np.where(flags, _TRUE, _FALSE).astype(np.uint8) * valid
        return Encoded(np.arange(count + 1, dtype=np.int64), _padded(data))
    if pa.types.is_decimal(kind):
        return _decimals(array, valid)
    if pa.types.is_timestamp(kind):
        header = _LOCAL if kind.tz is None else _INSTANT
        return _fixed(array, valid, header, 8, 8)
    if kind in _NUMBERS:
        size = kind.bit_width // 8
        return _fixed(array, valid, _NUMBERS[kind], size, size)
    if kind == pa.large_string() or kind == pa.large_binary():
        return _texts(array, valid, is_string=kind == pa.large_string())
    raise TypeError(f"no VARIANT of {kind}")


def _padded(data: np.ndarray) -> np.ndarray:
    return np.concatenate((data, np.zeros(PADDING, np.uint8)))


def _room(count: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(count + 1, np.int64), np.empty(most + PADDING, np.uint8)


def _fixed(
    array: pa.Array, valid: np.ndarray, header: int, size: int, stride: int, scale: int = -1
) -> Encoded:
    count = len(array)
    buffer = array.buffers()[1]
    values = np.zeros(stride, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)
    start = address_of(values) + array.offset * stride
    ends, data = _room(count, count * (size + 2))
    kernel.put_fixed(
        header, scale, size, start, stride, address_of(valid), count, address_of(ends),
        address_of(data),
    )  # fmt: skip
    return Encoded(ends, data)


def _decimals(array: pa.Array, valid: np.ndarray) -> Encoded:
    kind = array.type
    size, header = next(
        (size, header) for digits, size, header in _DECIMALS if kind.precision <= digits
    )
    return _fixed(array, valid, header, size, 16, kind.scale)


def _texts(array: pa.Array, valid: np.ndarray, *, is_string: bool) -> Encoded:
    count = len(array)
    _, offsets, buffer = array.buffers()
    if count == 0 or offsets is None:
        return Encoded(np.zeros(1, np.int64), np.zeros(PADDING, np.uint8))
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + count + 1]
    begin, end = int(ends[0]), int(ends[-1])
    texts = np.zeros(end - begin + PADDING, np.uint8)
    if buffer is not None:
        texts[: end - begin] = np.frombuffer(buffer, np.uint8)[begin:end]
    places = ends - begin
    encoded_ends, data = _room(count, end - begin + count * kernel.HEAD_BYTES)
    kernel.put_texts(
        _STRING if is_string else _BINARY, int(is_string), address_of(places), address_of(texts),
        address_of(valid), count, address_of(encoded_ends), address_of(data),
    )  # fmt: skip
    return Encoded(encoded_ends, data)


def _objects(array: pa.Array, valid: np.ndarray, names: Names) -> Encoded:
    count = len(array)
    in_order = sorted((field.name.encode(), at) for at, field in enumerate(array.type))
    members = [encode(array.field(at), names) for _, at in in_order]
    children = np.array(
        [(address_of(member.ends), address_of(member.data)) for member in members], np.int64
    ).reshape(-1, 2)
    ids = np.array([names.place(name.decode()) for name, _ in in_order], np.int64)
    per_row = kernel.HEAD_BYTES + len(members) * (names.id_size + kernel.OFFSET_BYTES)
    most = sum(member.nbytes for member in members) + count * (per_row + kernel.OFFSET_BYTES)
    ends, data = _room(count, most)
    kernel.put_objects(
        address_of(children), len(members), address_of(ids), names.id_size, address_of(valid),
        count, address_of(ends), address_of(data),
    )  # fmt: skip
    return Encoded(ends, data)


def _offsets_of(array: pa.Array) -> np.ndarray:
    return np.ascontiguousarray(np.asarray(array.offsets), np.int64)


def _lists(
    offsets: np.ndarray,
    elements: Encoded,
    valid: np.ndarray,
    ids: np.ndarray | None,
    id_size: int,
) -> Encoded:
    count = len(valid)
    per_element = id_size + kernel.OFFSET_BYTES
    most = elements.nbytes + len(elements) * per_element
    ends, data = _room(count, most + count * (kernel.HEAD_BYTES + kernel.OFFSET_BYTES))
    kernel.put_lists(
        0 if ids is None else address_of(ids), id_size, address_of(offsets),
        address_of(elements.ends), address_of(elements.data), address_of(valid), count,
        address_of(ends), address_of(data),
    )  # fmt: skip
    return Encoded(ends, data)


def _maps(array: pa.Array, valid: np.ndarray, names: Names) -> Encoded:
    """Encode maps as objects: entries in the order of their names in each row."""
    offsets = _offsets_of(array)
    ids = names.places(_texts_of(array.keys))
    rows = np.repeat(np.arange(len(array)), np.diff(offsets))
    begin, end = int(offsets[0]), int(offsets[-1])
    order = np.lexsort((ids[begin:end], rows)) + begin
    items = encode(array.items.take(pa.array(order)), names)
    return _lists(offsets - begin, items, valid, np.ascontiguousarray(ids[order]), names.id_size)
