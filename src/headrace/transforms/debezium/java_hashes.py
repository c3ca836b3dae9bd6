"""Java's hashes of Connect values, for whole columns: `hashCode`, and Infinispan's MurmurHash3
(x64, 32 bits of it, seed 9001), which Debezium uses.

Hashes are uint32 arrays, one per value; for a null the hash is undefined.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation.values import connect_values, values
from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import address_of, load8
from headrace.connect.records import Node, Records
from headrace.connect.schema import DECIMAL, Schema, Type

_FACTOR = 31
_TRUE, _FALSE = 1231, 1237
_BITS_32 = (1 << 32) - 1
_SEED = 9001
_FIRST = (0x9368E53C2F6AF274, 0x586DCD208F7CD3FD)
_FACTORS = (0x87C37B91114253D5, 0x4CF5AD432745937F)
_BLOCK = 16  # bytes


def java_hashes(records: Records, node: Node) -> np.ndarray:
    """`hashCode` of the node's values. Structs, whose hash in Java depends on the object, are
    hashed by their parts, as a list; bytes are hashed as a ByteBuffer."""
    schema = node.schema
    match schema.type:
        case Type.BYTES if schema.name == DECIMAL:
            pass
        case Type.INT8 | Type.INT16 | Type.INT32:
            return _integers(records, node).astype(np.int64).astype(np.uint32)
        case Type.INT64:
            return _folded(_integers(records, node).view(np.uint64))
        case Type.BOOLEAN:
            flags = pc.fill_null(values(records, node), fill_value=False)
            return np.where(flags.to_numpy(zero_copy_only=False), _TRUE, _FALSE).astype(np.uint32)
        case Type.FLOAT32:
            return _integers(records, node).view(np.uint32)
        case Type.FLOAT64:
            return _folded(_integers(records, node).view(np.uint64))
        case Type.STRING:
            return _text_hashes(values(records, node))
    objects = connect_values(records, node)
    hashes = [0 if value is None else _hash(schema, value) for value in objects]
    return np.array(hashes, np.int64).astype(np.uint32)


def murmur_hashes(records: Records, node: Node) -> np.ndarray:
    """MurmurHash3 of the UTF-8 of texts, and of the four bytes of other values' `hashCode`."""
    if node.schema.type is Type.STRING:
        encoded = pc.fill_null(values(records, node), "").cast(pa.large_binary())
        _, offsets, data = encoded.buffers()
        ends = np.frombuffer(offsets, np.int64)[encoded.offset :][: len(encoded) + 1]
        text_bytes = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        return _murmur(text_bytes, ends)
    hashes = np.ascontiguousarray(java_hashes(records, node), "<u4")
    return _murmur(hashes.view(np.uint8), np.arange(len(hashes) + 1, dtype=np.int64) * 4)


def _integers(records: Records, node: Node) -> np.ndarray:
    """The numbers of a node; 0 for a null."""
    array = values(records, node)
    zero = pa.scalar(0, array.type)
    return np.ascontiguousarray(pc.fill_null(array, zero).to_numpy(zero_copy_only=False))


def _folded(longs: np.ndarray) -> np.ndarray:
    return np.asarray((longs ^ (longs >> np.uint64(32))).astype(np.uint32))


@entry
def _hash_texts(offsets, count, data, out):
    """`String.hashCode` of `count` texts in UTF-8 (int64 `offsets`), as int64 of 32 bits each."""
    for i in range(count):
        place = data + offsets[i]
        end = data + offsets[i + 1]
        hash_code = np.int64(0)
        while place < end:
            byte = load8(place)
            more = np.int64(0)
            if byte >= 0xC0:
                more = np.int64(1 + (byte >= 0xE0) + (byte >= 0xF0))
                byte &= 0x3F >> more
            place += 1
            for _ in range(more):
                byte = byte << 6 | load8(place) & 0x3F
                place += 1
            if byte > 0xFFFF:  # two units, each half of the character
                hash_code = hash_code * _FACTOR + 0xD800 + ((byte - 0x10000) >> 10)
                byte = 0xDC00 + (byte & 0x3FF)
            hash_code = (hash_code * _FACTOR + byte) & _BITS_32
        out[i] = hash_code


def _text_hashes(texts: pa.LargeStringArray) -> np.ndarray:
    """`String.hashCode`: UTF-16 units are the coefficients of powers of 31."""
    count = len(texts)
    out = np.zeros(count, np.int64)
    _, offsets, data = texts.buffers()
    if count and data is not None:
        places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + count + 1]
        _hash_texts(address_of(places), count, data.address, address_of(out))
    return out.astype(np.uint32)


def _hash(schema: Schema, value: object) -> int:
    """Return the unsigned `hashCode` of one value."""
    match value:
        case None:
            return 0
        case bool():
            return _TRUE if value else _FALSE
        case Decimal():
            return _decimal_hash(value)
        case int() if schema.type is Type.INT64:
            return (value ^ (value >> 32)) & _BITS_32
        case int():
            return value & _BITS_32
        case float() if schema.type is Type.FLOAT32:
            return int(np.float32(value).view(np.uint32))
        case float():
            return int(_folded(np.array([value]).view(np.uint64))[0])
        case str():
            return int(_text_hashes(pa.array([value], pa.large_string()))[0])
        case bytes():
            return _sequence_hash([byte - 256 if byte > 127 else byte for byte in reversed(value)])
        case list() if schema.values is not None:
            return _sequence_hash([_hash(schema.values, element) for element in value])
        case Mapping() if schema.keys is not None and schema.values is not None:
            keys, inner = schema.keys, schema.values
            pairs = (_hash(keys, key) ^ _hash(inner, content) for key, content in value.items())
            return sum(pairs) & _BITS_32
        case Mapping():
            hashes = [_hash(field.schema, value.get(field.name)) for field in schema.fields]
            return _sequence_hash(hashes)
    return _hash(Schema(Type.STRING), str(value))


def _sequence_hash(parts: list[int]) -> int:
    result = 1
    for part in parts:
        result = (_FACTOR * result + part) & _BITS_32
    return result


def _decimal_hash(value: Decimal) -> int:
    """`BigDecimal.hashCode`, of the unscaled number's 32-bit digits and the scale."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)) or "0")
    result = 0
    for shift in range((number.bit_length() + 31) // 32 * 32 - 32, -1, -32):
        result = (_FACTOR * result + (number >> shift & _BITS_32)) & _BITS_32
    return (_FACTOR * (-result if sign else result) - exponent) & _BITS_32


def _murmur(data: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The hashes of byte strings that end at `ends[1:]`, computed at once, block by block."""
    begins, lengths = ends[:-1], np.diff(ends)
    padded = np.concatenate([data, np.zeros(_BLOCK, np.uint8)])
    count = len(lengths)
    state = np.empty((4, count), np.uint64)
    state[0], state[1] = _FIRST[0] ^ _SEED, _FIRST[1] ^ _SEED
    state[2], state[3] = _FACTORS
    whole = lengths // _BLOCK
    for block in range(int(whole.max()) if count else 0):
        rows = np.flatnonzero(whole > block)
        at = (begins[rows] + _BLOCK * block)[:, None] + np.arange(_BLOCK)
        _mix(state, rows, padded[at].view("<u8"))
    rows = np.flatnonzero(lengths % _BLOCK)
    at = (begins[rows] + _BLOCK * whole[rows])[:, None] + np.arange(_BLOCK)
    in_tail = np.arange(_BLOCK) < (lengths[rows] % _BLOCK)[:, None]
    # Java's bytes are signed, which affects the last words.
    signed = np.where(in_tail, padded[at].view(np.int8), 0).astype(np.int64).view(np.uint64)
    shifted = signed << (np.arange(_BLOCK, dtype=np.uint64) % 8 * 8)
    words = np.bitwise_xor.reduce(shifted.reshape(-1, 2, 8), axis=2)
    _mix(state, rows, words)
    h1, h2 = state[0], state[1] ^ lengths.astype(np.uint64)
    h1 = h1 + h2
    h2 = h2 + h1
    return np.asarray(((_final(h1) + _final(h2)) >> np.uint64(32)).astype(np.uint32))


def _mix(state: np.ndarray, rows: np.ndarray, words: np.ndarray) -> None:
    """Mix two words into the state of each of the rows."""
    h1, h2, factor, other_factor = state[:, rows]
    first = _rotated(words[:, 0] * factor, 23) * other_factor
    h1 = (h1 ^ first) + h2
    h2 = _rotated(h2, 41)
    second = _rotated(words[:, 1] * other_factor, 23) * factor
    h2 = (h2 ^ second) + h1
    state[0, rows] = h1 * np.uint64(3) + np.uint64(0x52DCE729)
    state[1, rows] = h2 * np.uint64(3) + np.uint64(0x38495AB5)
    state[2, rows] = factor * np.uint64(5) + np.uint64(0x7B7D159C)
    state[3, rows] = other_factor * np.uint64(5) + np.uint64(0x6BCE6396)


def _rotated(words: np.ndarray, bits: int) -> np.ndarray:
    return np.asarray((words << np.uint64(bits)) | (words >> np.uint64(64 - bits)))


def _final(words: np.ndarray) -> np.ndarray:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        words = (words ^ (words >> np.uint64(33))) * np.uint64(factor)
    return np.asarray(words ^ (words >> np.uint64(33)))
