"""Sets of positions in data files, based on the package `pyroaring` of the extra `tables`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyroaring import BitMap


def bitmap(positions: Iterable[int] = ()) -> BitMap:
    """Return a set of positions below 2^32. Raises HeadraceError("replicas.no_pyroaring")."""
    return _type()(positions)


def read_bitmap(content: bytes) -> BitMap:
    """Read a set in Roaring's portable form. Raises ValueError, and as `bitmap`."""
    return _type().deserialize(content)


def require_bitmaps() -> None:
    """Raises HeadraceError("replicas.no_pyroaring") if the package is missing."""
    _type()


def _type() -> type[BitMap]:
    try:
        from pyroaring import BitMap
    except ImportError as error:
        raise HeadraceError(
            "replicas.no_pyroaring",
            "The sinks iceberg and delta need the package pyroaring for headrace.sink.mode=replica",
            "pip install 'headrace[tables]'",
        ) from error
    return BitMap
