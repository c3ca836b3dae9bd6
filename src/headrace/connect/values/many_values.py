"""Many values of one schema made into something else: by columns of them, and once for equal ones.

An array of a record may hold hundreds of thousands of values. To look at each of them from its
schema on takes microseconds; here a schema is looked at once for all of its values.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice, repeat
from types import NoneType
from typing import Any, Generic, TypeVar

from headrace.connect.schema import Schema, Type

T = TypeVar("T")
_LARGE = 50_000
_BY_VALUE = ({str}, {bytes}, {int}, {bool})
"""Types whose equal values are the same."""


@contextmanager
def collected_after(size: int) -> Iterator[None]:
    """Python's garbage collection waits until a value of so many bytes, or so many values, are made
    where that is many: values hold no cycles, and it would go over all that there is of one again
    and again."""
    if size < _LARGE or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@dataclass(frozen=True)
class ManyValues(Generic[T]):
    """How values become what they are made into.

    `one` makes it of one value of a schema, also of a null, and raises what is wrong with it;
    `array` of what was made of items, `struct` gives for a schema what makes it of what was made of
    members. `map` makes it of pairs of what was made of keys and items; None: maps are made one by
    one. `several` makes it of values of a schema that all have one type of Python; None: one by
    one. `count` gets the number of items or members before they are looked at.
    """

    one: Callable[[Schema, object], T]
    array: Callable[[Schema, list[T]], T]
    struct: Callable[[Schema], Callable[[Sequence[T]], T]]
    map: Callable[[Schema, list[tuple[T, T]]], T] | None = None
    several: Callable[[Schema, type, Sequence[object]], list[T] | None] = lambda *_: None
    count: Callable[[int], None] = lambda _: None

    def of(self, schema: Schema, values: Sequence[object]) -> list[T]:
        """What is made of each value."""
        if len(values) < _LARGE:
            return self._made(schema, values)
        with collected_after(len(values)):
            return self._made(schema, values)

    def _made(self, schema: Schema, values: Sequence[object]) -> list[T]:
        kinds = set(map(type, values))
        if NoneType in kinds:
            return self._with_nulls(schema, values)
        if schema.type is Type.ARRAY and schema.values is not None and kinds <= {list, tuple}:
            counts = [len(each) for each in values]  # type: ignore[arg-type]
            self.count(sum(counts))
            items: Iterable[object] = chain.from_iterable(values)  # type: ignore[arg-type]
            if not any(counts):
                return [self.array(schema, []) for _ in counts]
            made = iter(self.of(schema.values, list(items)))
            return [self.array(schema, list(islice(made, count))) for count in counts]
        if schema.type is Type.STRUCT and kinds == {dict}:
            self.count(len(schema.fields) * len(values))
            columns = [
                self.of(each.schema, [value.get(each.name) for value in values])  # type: ignore[attr-defined]
                for each in schema.fields
            ]
            rows = zip(*columns, strict=True) if columns else repeat((), len(values))
            return list(map(self.struct(schema), rows))
        if self.map is not None and schema.type is Type.MAP and kinds <= {dict, list}:
            return self._maps(self.map, schema, values)
        if len(kinds) == 1:
            several = self.several(schema, next(iter(kinds)), values)
            if several is not None:
                return several
        return self._distinct(schema, values, values if kinds in _BY_VALUE else map(id, values))

    def _maps(
        self, made: Callable[[Schema, list[tuple[T, T]]], T], schema: Schema, values: Sequence[Any]
    ) -> list[T]:
        """Maps, which are lists of pairs if their keys are not texts."""
        assert schema.keys is not None
        assert schema.values is not None
        maps = [list(each.items()) if isinstance(each, dict) else each for each in values]
        self.count(2 * sum(map(len, maps)))
        pairs = list(chain.from_iterable(maps))
        keys = self.of(schema.keys, [key for key, _ in pairs])
        items = self.of(schema.values, [item for _, item in pairs])
        entries = zip(keys, items, strict=True)
        return [made(schema, list(islice(entries, len(each)))) for each in maps]

    def _with_nulls(self, schema: Schema, values: Sequence[object]) -> list[T]:
        held = [each for each in values if each is not None]
        null = self.one(schema, None)
        made = iter(self.of(schema, held))
        return [null if each is None else next(made) for each in values]

    def _distinct(
        self, schema: Schema, values: Sequence[object], keys: Iterable[object]
    ) -> list[T]:
        keys = list(keys)
        made = {
            key: self.one(schema, value)
            for key, value in dict(zip(keys, values, strict=True)).items()
        }
        return [made[key] for key in keys]
