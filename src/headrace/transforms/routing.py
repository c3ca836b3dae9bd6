"""Routes records to topics that their values name, and renames topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from headrace.config.regex import compile_java_regex, compile_java_replacement
from headrace.connect.records import Records, Shape
from headrace.connect.sized_cache import SizedCache
from headrace.transforms.transform import PerShape, WrongOption

MAX_ROUTES = 10_000
"""The most topics of one shape to remember; the least recently used ones are forgotten."""


def _with_topic(shape: Shape, topic: str) -> Shape:
    return replace(shape, topic=topic)


class Renaming:
    """Replacement of names that match an expression."""

    def __init__(self, regex: str, replacement: str, option: str) -> None:
        """`option` is the name of the replacement's option.

        Raises WrongOption("transforms.bad_replacement") for a group that the expression lacks.
        """
        self._pattern = compile_java_regex(regex, case_matters=True)
        try:
            self._replaced = compile_java_replacement(replacement, self._pattern)
        except ValueError as error:
            raise WrongOption(
                "transforms.bad_replacement",
                option,
                f" = {replacement!r}: {error}",
                "Name groups that the expression has.",
            ) from None

    def __call__(self, name: str) -> str | None:
        """Return the name with the first match replaced; None if the expression does not match the
        whole name."""
        if not self._pattern.fullmatch(name):
            return None
        return self._pattern.replaced(name, self._replaced)


class Routes:
    """The shapes of routed records: one per shape and topic."""

    def __init__(self, sent: Callable[[Shape, str], Shape] = _with_topic) -> None:
        """`sent` returns the shape of routed records; by default only the topic changes."""
        self._sent = sent
        self._shapes: PerShape[SizedCache[str, Shape]] = PerShape(lambda _: SizedCache(MAX_ROUTES))

    def shape(self, shape: Shape, topic: str) -> Shape:
        """Return the shape of records of `shape` that go to `topic`: the same object each time, as
        long as there are at most MAX_ROUTES topics."""
        if topic == shape.topic:
            return shape
        return self._shapes(shape).of(topic, lambda: self._sent(shape, topic))

    def split(self, records: Records, topics: pa.Array) -> Iterator[Records]:
        """Yield the records grouped by topic (texts, one per record, which may be
        dictionary-encoded); records with a null or blank topic stay."""
        for name, part in by_value(records, topics):
            stays = name is None or not str(name).strip()
            shape = records.shape if stays else self.shape(records.shape, str(name))
            yield part.with_shape(shape)


def by_value(records: Records, array: pa.Array) -> Iterator[tuple[object, Records]]:
    """Yield the records grouped by their values in an array, which may be dictionary-encoded; null
    is one of the values."""
    encoded = array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    indices = encoded.indices
    index = np.asarray(indices.fill_null(len(distinct)) if indices.null_count else indices)
    if len(distinct) == 1 and not indices.null_count:
        yield distinct[0], records
        return
    for number, value in enumerate([*distinct, None]):
        mask = index == number
        if mask.any():
            yield value, records.with_rows(mask)
