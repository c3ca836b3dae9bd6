"""Access to S3 by Arrow's own client: paths of objects, credentials, and errors."""

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
from headrace.sinks.replicas.files.local_folders import folder_failed

if TYPE_CHECKING:
    import pyarrow.fs

SCHEMES = ("s3", "s3a", "s3n")
"""Schemes of locations on S3; all mean the same."""
_ANSWER = re.compile(r"AWS Error \[?(?:code )?(\w+)\]?.*", re.DOTALL)
_FINAL = (
    "ACCESS_DENIED",
    "INVALID_ACCESS_KEY_ID",
    "INVALID_SIGNATURE",
    "NO_SUCH_BUCKET",
    "SIGNATURE_DOES_NOT_MATCH",
)
"""Errors that a repeated request does not change."""
_MAX_SHOWN = 500


@dataclass(frozen=True)
class S3Access:
    """How to access a store. Without an endpoint it is AWS; without keys they come from the
    environment, the profile or the instance of the process that reads or writes. Picklable: the
    keys are sent to the tasks, and `repr` hides them."""

    endpoint: str = ""
    region: str = ""
    is_path_style: bool = False
    """Whether the bucket is in the path of the URL, and not in the name of the host."""
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
    """Return a location on S3 as Arrow's path, `BUCKET/KEY`; None: not on S3. As in Iceberg,
    nothing is URL-encoded."""
    scheme, colon, path = location.partition("://")
    return path if colon and scheme.lower() in SCHEMES else None


@contextmanager
def answering(path: str) -> Iterator[None]:
    """Raise errors of S3 and of local disks for reads and writes of a file as
    HeadraceError("replicas.storage_failed"), but not those about the content of a file."""
    try:
        yield
    except OSError as error:
        code = _ANSWER.search(str(error))
        if code is None and error.errno is None:
            raise
        if code is None:
            raise folder_failed(path.rpartition("/")[0] or path, error, retriable=True) from None
        raise HeadraceError(
            "replicas.storage_failed",
            f"s3://{path}: {answer(error)}",
            "Check that the store can be reached, and that the keys may read, write, list and "
            "delete objects under headrace.sink.warehouse.",
            retriable=code[1] not in _FINAL,
        ) from None


def answer(error: Exception) -> str:
    """Return the error of S3 on one line, without the text that Arrow adds."""
    text = str(error)
    match = _ANSWER.search(text)
    return without_passwords(" ".join((match[0] if match else text).split()))[:_MAX_SHOWN]


@lru_cache(maxsize=16)
def _client(access: S3Access, _process: int) -> pyarrow.fs.FileSystem:
    """Return the client of a process: forked processes do not have its threads."""
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
        # Small objects are written with one request instead of the three of a large one.
        return S3FileSystem(**settings, allow_delayed_open=True)
    except TypeError:  # before PyArrow 19
        return S3FileSystem(**settings)


def _is_virtual(access: S3Access) -> bool:
    """Return whether the bucket is in the name of an endpoint's host, as for Java's client; not if
    the host is an IP address."""
    if not access.endpoint or access.is_path_style:
        return False
    try:
        ip_address(urlsplit(access.endpoint).hostname or "")
    except ValueError:
        return True
    return False


def _revealed(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()
