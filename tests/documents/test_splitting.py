"""Values split into structures and leaves: the compiled pass against plain Python."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from random import Random

import bson
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.documents.bson import Kind
from headrace.documents.splitting import SplitForm, split, structure_of
from headrace.documents.values import SCALARS, elements_of, pointer_parts, regex_parts, scoped_code
from headrace.errors import HeadraceError
from tests.documents.plain_bson import encode, encode_value
from tests.documents.values import documents, values
from tests.fuzz.mutations import mutated

forms = st.builds(SplitForm, st.booleans(), st.booleans())


def cells_of(raws: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Cells of these values, and the memory that they lie in."""
    memory = np.frombuffer(b"".join(raws) + bytes(PADDING), np.uint8)
    lengths = np.array([len(raw) for raw in raws], np.int64)
    cells = np.zeros((len(raws), 3), np.int64)
    cells[:, 1] = address_of(memory) + np.cumsum(lengths) - lengths
    cells[:, 2] = lengths
    return cells, memory


def plain_leaves(kind: int, value: bytes, form: SplitForm) -> Iterator[bytes]:
    """The bytes of each leaf, in order."""
    match kind:
        case Kind.DOCUMENT:
            for inner, _, raw in elements_of(value):
                yield from plain_leaves(inner, raw, form)
        case Kind.ARRAY if form.numbered:
            for inner, _, raw in elements_of(value):
                yield from plain_leaves(inner, raw, form)
        case Kind.ARRAY:
            yield bytes([Kind.ARRAY]) + value
        case Kind.CODE_WITH_SCOPE:
            code, scope = scoped_code(value)
            yield code.encode()
            yield from plain_leaves(Kind.DOCUMENT, scope, form)
        case Kind.REGEX:
            yield from (part.encode() for part in regex_parts(value))
        case Kind.DB_POINTER:
            yield from (part.encode() for part in pointer_parts(value))
        case Kind.NULL | Kind.UNDEFINED | Kind.MIN_KEY | Kind.MAX_KEY:
            return
        case Kind.INT64 if form.small_longs:
            is_small = -(1 << 31) <= int.from_bytes(value, "little", signed=True) < 1 << 31
            yield value[:4] if is_small else value
        case Kind.TIMESTAMP:
            at = SCALARS[kind](value)
            assert isinstance(at, int)
            yield at.to_bytes(8, "little")
        case _:
            leaf = SCALARS[kind](value)
            if isinstance(leaf, str):
                yield leaf.encode()
            else:
                yield leaf if isinstance(leaf, bytes) else value


@given(st.lists(values.map(encode_value), min_size=1, max_size=6), forms)
def test_the_leaves_of_values_are_those_of_the_plain_walk(
    raws: list[bytes], form: SplitForm
) -> None:
    cells, _memory = cells_of(raws)
    splitting = split(cells, form)
    shared = np.zeros((splitting.most_leaves, len(raws), 3), np.int64)
    member_count = 0
    for group in splitting.groups():
        structures = {structure_of(raws[m][0], raws[m][1:], form) for m in group.members}
        assert len(structures) == 1
        assert structures.pop().leaf_count(form) == splitting.leaf_count(group)
        tables = splitting.scatter(group, group.members, shared)
        for member in group.members:
            leaves = [ctypes.string_at(*map(int, table[member, 1:])) for table in tables]
            assert leaves == list(plain_leaves(raws[member][0], raws[member][1:], form))
        member_count += len(group.members)
    assert member_count == len(raws)


@given(documents, documents, forms)
def test_values_are_of_one_group_when_their_structures_are_equal(
    first: dict[str, object], second: dict[str, object], form: SplitForm
) -> None:
    raws = [bytes([Kind.DOCUMENT]) + encode(each) for each in (first, second)]
    cells, _memory = cells_of(raws)
    are_equal = structure_of(3, raws[0][1:], form) == structure_of(3, raws[1][1:], form)
    assert (len(list(split(cells, form).groups())) == 1) is are_equal


def test_broken_values_are_refused_and_leaves_lie_within_their_values() -> None:
    random = Random(7)
    sound = [
        encode_value({"a": 1, "b": {"c": "text", "d": [1, "x", {"y": 2.5}]}, "e": b"bytes"}),
        encode_value({"i": bson.Int64(2**40), "l": [[1], [2]], "n": None, "s": "x" * 40}),
    ]
    refused = 0
    for _ in range(3000):
        raw = mutated(random, random.choice(sound)) or b"\3"
        cells, memory = cells_of([raw])
        try:
            splitting = split(cells, SplitForm())
        except HeadraceError:
            refused += 1
            continue
        first, last = splitting.splits[0, 1:]
        spare = splitting.memory[1]
        assert isinstance(spare, np.ndarray)
        for _, address, length in splitting.leaves[first:last].tolist():
            homes = (
                (address_of(memory), address_of(memory) + len(raw)),
                (address_of(spare), address_of(spare) + len(spare)),
            )
            assert any(begin <= address and address + length <= end for begin, end in homes)
    assert 0 < refused < 3000


@pytest.mark.parametrize("numbered", [False, True])
def test_leaves_that_need_the_most_room_have_it(numbered: bool) -> None:
    flags = encode_value({f"{i}": True for i in range(5000)} | {"x": [True] * 5000})
    cells, _memory = cells_of([flags] * 3)
    form = SplitForm(numbered=numbered)
    splitting = split(cells, form)
    (group,) = splitting.groups()
    assert splitting.leaf_count(group) == 5000 + (5000 if numbered else 1)
