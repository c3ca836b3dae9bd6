"""The S3 settings in the catalog properties that Iceberg defines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit
from uuid import uuid4

from headrace.config.secret import Secret, without_passwords
from headrace.errors import HeadraceError
from headrace.sinks.replicas.files.s3 import SCHEMES, S3Access, answer

FILE_IO = "org.apache.iceberg.aws.s3.S3FileIO"
CLIENT = "software.amazon.awssdk.services.s3.S3Client"
REGION = "client.region"
_ENDPOINT, _PATH_STYLE = "s3.endpoint", "s3.path-style-access"
_KEY_ID, _SECRET_KEY, _TOKEN = "s3.access-key-id", "s3.secret-access-key", "s3.session-token"
_REGION_ALIAS = "s3.region"
"""PyIceberg's name of the region."""
_OF_BOTH = (_ENDPOINT, _PATH_STYLE, _KEY_ID, _SECRET_KEY, _TOKEN, _REGION_ALIAS, REGION)
_OF_METADATA = (
    "s3.checksum-enabled",
    "s3.delete-enabled",
    "s3.delete.batch-size",
    "s3.delete.num-threads",
    "s3.multipart.",
    "s3.preload-client-enabled",
    "s3.retry.",
    "s3.staging-dir",
)
"""Properties of only Java's client, which may differ from the behaviour of Arrow's client."""
_DEFAULT_REGION = "us-east-1"
"""The region of endpoints that have none: requests are signed for some region."""


def is_s3(location: str) -> bool:
    """Whether a location is on S3."""
    scheme, colon, _ = location.partition(":")
    return bool(colon) and scheme.lower() in SCHEMES


def names_s3(properties: Mapping[str, str]) -> bool:
    """Whether a catalog's properties mean that its files are on S3."""
    if properties.get("io-impl") == FILE_IO or REGION in properties:
        return True
    return any(name.startswith("s3.") for name in properties)


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """A catalog's properties in the form of Java's client. Raises HeadraceError as `access_of`."""
    access = access_of(properties)
    java = {"io-impl": FILE_IO} | dict(properties)
    java.pop(_REGION_ALIAS, None)
    if access.region:
        java[REGION] = access.region
    if java["io-impl"] != FILE_IO:
        raise _impossible("io-impl", java["io-impl"], "files on S3 need another one", "")
    return java


def access_of(properties: Mapping[str, str]) -> S3Access:
    """The access to data files, from a catalog's properties; ignores properties that are not about
    S3.

    Raises HeadraceError("iceberg.impossible_option"), ("iceberg.option_missing").
    """
    for name, value in properties.items():
        is_known = name in _OF_BOTH or name.startswith(_OF_METADATA) or value.lower() == "false"
        if name.startswith(("s3.", "client.")) and not is_known:
            raise HeadraceError(
                "iceberg.impossible_option",
                f"headrace.sink.catalog.{name} is for Iceberg's client of S3 alone, and headrace "
                "writes data files by another one, which would not follow it",
                "Leave it out. Encryption and the like can be set for the bucket.",
            )
    style = properties.get(_PATH_STYLE, "false").strip().lower()
    if style not in ("true", "false"):
        raise _impossible(_PATH_STYLE, style, "it is a switch", "Set it to true or false.")
    endpoint = properties.get(_ENDPOINT, "").strip().rstrip("/")
    if endpoint:
        _check_endpoint(endpoint)
    region = properties.get(REGION) or properties.get(_REGION_ALIAS, "")
    if not region:
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    if not region and endpoint:
        region = _DEFAULT_REGION
    keys = {name: Secret(properties[name]) for name in (_KEY_ID, _SECRET_KEY, _TOKEN) if
            properties.get(name)}  # fmt: skip
    if keys:
        for name in (_KEY_ID, _SECRET_KEY):
            if name not in keys:
                raise HeadraceError(
                    "iceberg.option_missing",
                    f"headrace.sink.catalog.s3.* has keys, and lacks headrace.sink.catalog.{name}",
                    "Set both, or none of the keys: then they are those of the environment, the "
                    "profile or the instance.",
                )
    return S3Access(
        endpoint,
        region,
        style == "true",
        keys.get(_KEY_ID),
        keys.get(_SECRET_KEY),
        keys.get(_TOKEN),
    )


def s3_warehouse(text: str) -> str:
    """The location of a warehouse on S3, as `s3://BUCKET/FOLDER`. Raises
    HeadraceError("iceberg.impossible_option")."""
    parts = [part for part in text.partition(":")[2].split("/") if part]
    if not parts or "://" not in text:
        raise HeadraceError(
            "iceberg.impossible_option",
            f"headrace.sink.warehouse = {text!r}: it names no bucket",
            "Set it to s3://BUCKET/FOLDER.",
        )
    return f"s3://{'/'.join(parts)}"


def prove(access: S3Access, folder: str) -> None:
    """Write an object in a folder (`BUCKET/FOLDER`), read it and delete it. An empty object that
    stands for the folder may remain. Raises HeadraceError("iceberg.storage_refused")."""
    import pyarrow as pa

    path, content, task = f"{folder}/headrace-check-{uuid4()}", b"headrace check", "write"
    try:
        store = access.filesystem
        with store.open_output_stream(path) as output:
            output.write(content)
        task = "read"
        try:
            with store.open_input_file(path) as opened:
                read = opened.read()
        except OSError:
            with suppress(OSError):
                store.delete_file(path)
            raise
        task = "delete"
        store.delete_file(path)
    except (OSError, pa.ArrowException) as error:
        raise _refused(access, folder, task, answer(error)) from None
    if read != content:
        raise _refused(access, folder, "read", "the object had another content than was written")


def _refused(access: S3Access, folder: str, task: str, said: str) -> HeadraceError:
    bucket, _, rest = folder.partition("/")
    within = f" under {rest}/" if rest else ""
    return HeadraceError(
        "iceberg.storage_refused",
        f"headrace cannot {task} an object in the bucket {bucket}{within} at {access.place}: "
        f"{said}",
        "Check headrace.sink.catalog.s3.endpoint, headrace.sink.catalog.client.region and the "
        "keys; the bucket must exist, and the keys' owner needs s3:ListBucket, s3:GetObject, "
        "s3:PutObject and s3:DeleteObject.",
    )


def _check_endpoint(endpoint: str) -> None:
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise _impossible(
            _ENDPOINT,
            without_passwords(endpoint),
            "it is not an address of a server",
            "Set it to http://HOST:PORT or https://HOST:PORT.",
        )


def _impossible(name: str, value: str, why: str, remedy: str) -> HeadraceError:
    return HeadraceError(
        "iceberg.impossible_option",
        f"headrace.sink.catalog.{name} = {value!r}: {why}",
        remedy or "Leave it out.",
    )
