"""S3 as Arrow's own client reaches it: where objects are, by whose keys, and what it answers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headrace.config.secret import Secret, without_passwords
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    import pyarrow.fs

SCHEMES = ("s3", "s3a", "s3n")
"""Of locations; all mean the same."""
_ANSWER = re.compile(r"AWS Error \[?(?:code )?(\w+)\]?.*", re.DOTALL)
_FINAL = (
    "ACCESS_DENIED",
    "INVALID_ACCESS_KEY_ID",
    "INVALID_SIGNATURE",
    "NO_SUCH_BUCKET",
    "SIGNATURE_DOES_NOT_MATCH",
)
"""Answers that are the same however often one asks."""
_MOST_SHOWN = 500


@dataclass(frozen=True)
class S3Access:
    """How a store is reached. Without an endpoint it is AWS, without keys they come from the
    environment, the profile or the instance of whoever reads or writes. Picklable: the keys go to
    the tasks with it, and `repr` hides them."""

    endpoint: str = ""
    region: str = ""
    is_path_style: bool = False
    """Whether the bucket is in the path of the address, and not in the name of the host."""
    key_id: Secret | None = None
    secret_key: Secret | None = None
    session_token: Secret | None = None

    @property
    def place(self) -> str:
        """The endpoint for messages."""
        return self.endpoint or "AWS"

    @property
    def filesystem(self) -> pyarrow.fs.FileSystem:
        """Arrow's client, one for each process. Raises pyarrow.ArrowException, OSError."""
        return _client(self, os.getpid())


def s3_path(location: str) -> str | None:
    """A location on S3 as Arrow has it, `BUCKET/KEY`; None: it is elsewhere. Nothing is encoded
    in it, as Iceberg has it."""
    scheme, colon, path = location.partition("://")
    return path if colon and scheme.lower() in SCHEMES else None


@contextmanager
def answering(path: str) -> Iterator[None]:
    """Around reads and writes of a file: what S3 answers leaves as a
    HeadraceError("replicas.storage_failed"). Errors of other file systems are left as they are."""
    try:
        yield
    except OSError as error:
        code = _ANSWER.search(str(error))
        if code is None:
            raise
        raise HeadraceError(
            "replicas.storage_failed",
            f"s3://{path}: {answer(error)}",
            "Check that the store can be reached, and that the keys may read, write, list and "
            "delete objects under headrace.sink.warehouse.",
            retriable=code[1] not in _FINAL,
        ) from None


def answer(error: Exception) -> str:
    """What S3 said, on one line, without what Arrow says before it."""
    text = str(error)
    found = _ANSWER.search(text)
    return without_passwords(" ".join((found[0] if found else text).split()))[:_MOST_SHOWN]


@lru_cache(maxsize=16)
def _client(access: S3Access, _process: int) -> pyarrow.fs.FileSystem:
    """A client's threads are not there in processes that are forked."""
    from pyarrow.fs import S3FileSystem

    settings: dict[str, Any] = {
        "access_key": _revealed(access.key_id),
        "secret_key": _revealed(access.secret_key),
        "session_token": _revealed(access.session_token),
        "region": access.region or None,
        "endpoint_override": access.endpoint or None,
        "force_virtual_addressing": _is_virtual(access),
    }
    try:
        # A small object is written by one request, and not by the three of a large one.
        return S3FileSystem(**settings, allow_delayed_open=True)
    except TypeError:  # before PyArrow 19
        return S3FileSystem(**settings)


def _is_virtual(access: S3Access) -> bool:
    """Whether the bucket is in the name of an endpoint's host, as Java's client has it: a number is
    no name."""
    if not access.endpoint or access.is_path_style:
        return False
    try:
        ip_address(urlsplit(access.endpoint).hostname or "")
    except ValueError:
        return True
    return False


def _revealed(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()
