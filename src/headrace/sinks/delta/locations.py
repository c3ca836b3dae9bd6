"""The locations of tables and their files."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import TableName, require_name

_S3 = ("s3", "s3a", "s3n")
_SAFE = "/-_.=~+,@$!"


def local_folder(path: str) -> str:
    """The folder of a path or of a `file:` URI, without a trailing slash; a relative path starts at
    the current folder.

    Raises HeadraceError("delta.path_not_taken").
    """
    parts = urlsplit(path)
    if parts.scheme in _S3:
        raise _not_taken(
            path,
            "a commit to S3 needs a log store with conditional writes, which is not configured. "
            "Iceberg tables can be on S3 (headrace.sink.type=iceberg)",
        )
    if (parts.scheme and parts.scheme != "file") or parts.netloc not in ("", "localhost"):
        raise _not_taken(path, "tables are written to local folders and mounted file systems")
    folder = Path(unquote(parts.path) if parts.scheme else path)
    if parts.scheme and not folder.is_absolute():
        raise _not_taken(path, "a file: URI needs an absolute path")
    return str(folder.expanduser().absolute())


def table_folder(lake: str, name: TableName) -> str:
    """The folder of a table. Raises HeadraceError(NAME_NOT_TAKEN)."""
    require_name(name, f"a folder of {lake} that readers of Delta see", hidden="_.")
    return "/".join((lake.rstrip("/"), *name.namespace, name.name))


def file_in_log(path: str) -> str:
    """A path within a table's folder, encoded for the log."""
    return quote(path, safe=_SAFE)


def file_path(root: str, logged: str) -> str:
    """The path of a file in the log. Raises HeadraceError("delta.file_elsewhere") for a file
    outside of the local file system (a shallow clone)."""
    parts = urlsplit(logged)
    if parts.scheme not in ("", "file"):
        raise HeadraceError(
            "delta.file_elsewhere",
            f"The Delta table in {root} has the file {logged}, which is not on the local file "
            "system",
            "Copy the table into a new one: headrace does not keep shallow clones.",
        )
    path = unquote(parts.path)
    return path if path.startswith("/") else f"{root}/{path}"


def _not_taken(path: str, why: str) -> HeadraceError:
    return HeadraceError(
        "delta.path_not_taken",
        f"headrace.sink.path={path} cannot be used: {why}",
        "Set it to the path of a local or mounted folder.",
    )
