"""Conversion of many values of one schema: by columns, and once for equal values.

An array of a record may have hundreds of thousands of values. Converting each of them from its
schema takes microseconds; here a schema is examined once for all of its values.
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
"""Types whose equal values are interchangeable."""


@contextmanager
def collected_after(size: int) -> Iterator[None]:
    """Suspend Python's garbage collection until a large value (of so many bytes or values) is made:
    values have no cycles, and each collection would scan all objects again."""
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
    """The functions that convert values.

    `one` converts one value of a schema, also a null, and raises an error for an invalid one;
    `array` makes a result of converted items, `struct` returns for a schema the function that makes
    one of converted members. `map` makes one of pairs of converted keys and items; None: maps are
    converted one by one. `several` converts values of a schema that all have one type of Python;
    None: one by one. `count` gets the number of items or members before they are converted.
    """

    one: Callable[[Schema, object], T]
    array: Callable[[Schema, list[T]], T]
    struct: Callable[[Schema], Callable[[Sequence[T]], T]]
    map: Callable[[Schema, list[tuple[T, T]]], T] | None = None
    several: Callable[[Schema, type, Sequence[object]], list[T] | None] = lambda *_: None
    count: Callable[[int], None] = lambda _: None

    def of(self, schema: Schema, values: Sequence[object]) -> list[T]:
        """Return the converted values."""
        if len(values) < _LARGE:
            return self._made(schema, values)
        with collected_after(len(values)):
            return self._made(schema, values)

    def _made(self, schema: Schema, values: Sequence[object]) -> list[T]:
        kinds = set(map(type, values))
        if NoneType in kinds:
            return self._with_nulls(schema, values)
        if schema.type is Type.ARRAY and schema.values is not None and kinds <= {list, tuple}:
            counts = [len(array) for array in values]  # type: ignore[arg-type]
            self.count(sum(counts))
            items: Iterable[object] = chain.from_iterable(values)  # type: ignore[arg-type]
            if not any(counts):
                return [self.array(schema, []) for _ in counts]
            converted = iter(self.of(schema.values, list(items)))
            return [self.array(schema, list(islice(converted, count))) for count in counts]
        if schema.type is Type.STRUCT and kinds == {dict}:
            self.count(len(schema.fields) * len(values))
            columns = [
                self.of(field.schema, [value.get(field.name) for value in values])  # type: ignore[attr-defined]
                for field in schema.fields
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
        self, make: Callable[[Schema, list[tuple[T, T]]], T], schema: Schema, values: Sequence[Any]
    ) -> list[T]:
        """Convert maps, which are lists of pairs if their keys are not texts."""
        assert schema.keys is not None
        assert schema.values is not None
        maps = [list(value.items()) if isinstance(value, dict) else value for value in values]
        self.count(2 * sum(map(len, maps)))
        pairs = list(chain.from_iterable(maps))
        keys = self.of(schema.keys, [key for key, _ in pairs])
        items = self.of(schema.values, [item for _, item in pairs])
        entries = zip(keys, items, strict=True)
        return [make(schema, list(islice(entries, len(value)))) for value in maps]

    def _with_nulls(self, schema: Schema, values: Sequence[object]) -> list[T]:
        present = [value for value in values if value is not None]
        null = self.one(schema, None)
        converted = iter(self.of(schema, present))
        return [null if value is None else next(converted) for value in values]

    def _distinct(
        self, schema: Schema, values: Sequence[object], keys: Iterable[object]
    ) -> list[T]:
        keys = list(keys)
        converted = {
            key: self.one(schema, value)
            for key, value in dict(zip(keys, values, strict=True)).items()
        }
        return [converted[key] for key in keys]
