"""Records sent to topics that their values name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from headrace.connect.records import Records, Shape
from headrace.transforms.transform import PerShape

MOST_ROUTES = 10_000
"""Topics of one shape that are kept in mind."""


def _with_topic(shape: Shape, topic: str) -> Shape:
    return replace(shape, topic=topic)


class Routes:
    """The shapes of records that were sent elsewhere: one per shape and topic."""

    def __init__(self, sent: Callable[[Shape, str], Shape] = _with_topic) -> None:
        """`sent` gives the shape of records behind a route; without it, only the topic changes."""
        self._sent = sent
        self._shapes: PerShape[dict[str, Shape]] = PerShape(lambda _shape: {})

    def shape(self, shape: Shape, topic: str) -> Shape:
        """The shape of records of `shape` that go to `topic`: the same one again, as long as there
        are at most MOST_ROUTES."""
        if topic == shape.topic:
            return shape
        shapes = self._shapes(shape)
        if topic not in shapes:
            if len(shapes) >= MOST_ROUTES:
                del shapes[next(iter(shapes))]
            shapes[topic] = self._sent(shape, topic)
        return shapes[topic]

    def split(self, records: Records, topics: pa.Array) -> Iterator[Records]:
        """The records by topic (texts, one per record); where it is null or blank, they stay."""
        encoded = topics.dictionary_encode()
        names = encoded.dictionary.to_pylist()
        index = np.asarray(encoded.indices.fill_null(len(names)))
        for number, name in enumerate([*names, None]):
            mask = index == number
            if mask.any():
                stays = name is None or not name.strip()
                shape = records.shape if stays else self.shape(records.shape, name)
                yield records.with_rows(mask).with_shape(shape)
