"""Readers of texts and bytes, which have no schema of their own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headrace.connect.schema import Schema, Type
from headrace.converters.reading.kernels.images_kernel import RAW_BYTES, TEXT_BYTES
from headrace.converters.reading.part import NO_VALUE, Opened, PartForm
from headrace.converters.reading.texts import is_utf8, texts_of
from headrace.errors import HeadraceError


class StringReader:
    """Reader for StringConverter: optional texts."""

    def __init__(self) -> None:
        self._form = PartForm(Schema(Type.STRING, optional=True), TEXT_BYTES, bytes.decode)

    def form(self, number: int) -> PartForm:  # noqa: ARG002
        """See Reader."""
        return self._form

    def open(self, array: pa.Array | None, topics: np.ndarray) -> Opened:
        """See Reader."""
        texts = texts_of(array, len(topics))
        numbers = np.where(texts.present, 0, NO_VALUE)
        error = HeadraceError(
            "reading.not_understood", "is not UTF-8", "Name the converter that wrote it."
        )
        wrong = np.flatnonzero(~is_utf8(array, len(topics))).tolist()
        numbers[wrong] = NO_VALUE
        return Opened(texts, numbers, dict.fromkeys(wrong, error))


class BytesReader:
    """Reader for ByteArrayConverter: optional bytes."""

    def __init__(self) -> None:
        self._form = PartForm(Schema(Type.BYTES, optional=True), RAW_BYTES, bytes)

    def form(self, number: int) -> PartForm:  # noqa: ARG002
        """See Reader."""
        return self._form

    def open(self, array: pa.Array | None, topics: np.ndarray) -> Opened:
        """See Reader."""
        texts = texts_of(array, len(topics))
        return Opened(texts, np.where(texts.present, 0, NO_VALUE), {})
