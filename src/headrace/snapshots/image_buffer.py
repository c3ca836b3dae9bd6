"""A buffer for the images of rows that a kernel writes one after the other."""

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of


class ImageBuffer:
    """Images of up to `most_rows` rows in up to `capacity` bytes; PADDING bytes after them may be
    read and written."""

    def __init__(self, capacity: int, most_rows: int) -> None:
        self._capacity = capacity
        self._images = np.empty(capacity + PADDING, np.uint8)
        self._offsets = np.zeros(most_rows + 1, np.int64)
        self._scratch = np.empty(most_rows + 1, np.int64)
        self.rows = 0
        self._used = 0

    def room(self) -> tuple[int, int, int, int]:
        """Return the free space for a kernel: address and number of the free bytes, the address of
        int64s for the offsets of images in them (0 first), and how many rows may be added."""
        return (
            address_of(self._images) + self._used,
            self._capacity - self._used,
            address_of(self._scratch),
            len(self._offsets) - 1 - self.rows,
        )

    def add(self, rows: int) -> None:
        """Add the images of `rows` rows, which the kernel wrote with their offsets."""
        ends = self._scratch[1 : rows + 1]
        self._offsets[self.rows + 1 : self.rows + rows + 1] = ends + self._used
        self.rows += rows
        self._used = int(self._offsets[self.rows])

    def block(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the images, and the offsets (one more than rows) at which they begin and end."""
        return self._images[: self._used], self._offsets[: self.rows + 1]
