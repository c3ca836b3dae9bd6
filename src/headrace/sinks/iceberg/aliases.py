"""Translates options of debezium-server-iceberg (`debezium.sink.iceberg.*`) to options of the sink.

Options whose value is how replicas work anyway are accepted; options without a meaning here are
left unchanged, so that they are reported as unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.options import CATALOG, CLASSES, TABLE
from headrace.sinks.replicas.modes.mode import OPTIONS as OF_MODES

_SAME = {
    "catalog-name": "catalog.name",
    "type": "catalog.type",
    "table-namespace": "namespace",
    "table-prefix": "prefix",
    "fs.s3a.access.key": "catalog.s3.access-key-id",
    "fs.s3a.endpoint": "catalog.s3.endpoint",
    "fs.s3a.endpoint.region": "catalog.client.region",
    "fs.s3a.path.style.access": "catalog.s3.path-style-access",
    "fs.s3a.secret.key": "catalog.s3.secret-access-key",
    "fs.s3a.session.token": "catalog.s3.session-token",
}
_OF_CATALOG = ("uri", "credential", "token", "scope", "oauth2-server-uri", "io-impl")
_FAMILIES_OF_CATALOG = ("jdbc.", "rest.", "header.", "s3.", "client.")
_FAMILIES_OF_TABLE = ("write.", "commit.", "history.", "read.")
_AS_HERE = {
    "allow-field-addition": "true",
    "destination-lowercase-table-names": "false",
    "destination-uppercase-table-names": "false",
    "nested-as-variant": "false",
    "openlineage-enabled": "false",
    "preserve-required-property": "false",
    "table-mapper": "default-mapper",
    "upsert-op-field": "__op",
    "upsert-use-dv": "true",
    "write.format.default": "parquet",
}
"""Options with the only value that is possible for a replica."""


def translated(options: Mapping[str, str]) -> dict[str, str]:
    """Return options with headrace's names; if an option has both names, headrace's takes
    precedence. Raises HeadraceError("iceberg.impossible_option") for values that no replica can
    have."""
    own_options: dict[str, str] = {}
    for name, text in options.items():
        if name in _VALUES:
            own_options |= {
                n: value for n, value in _VALUES[name](text).items() if n not in options
            }
        elif name in _AS_HERE:
            if text.strip().lower() != _AS_HERE[name]:
                own_options[name] = text
        else:
            ours = _name(name)
            if ours == name or ours not in options:
                own_options[ours] = text
    return own_options


def _name(name: str) -> str:
    if name in OF_MODES:  # history.tables is no property of Iceberg's family `history.`
        return name
    if name in _SAME:
        return _SAME[name]
    if name in _OF_CATALOG or name.startswith(_FAMILIES_OF_CATALOG):
        return f"{CATALOG}{name}"
    return f"{TABLE}{name}" if name.startswith(_FAMILIES_OF_TABLE) else name


def _upsert(text: str) -> dict[str, str]:
    if _flag("upsert", text):
        return {}
    raise _impossible(
        "upsert",
        text,
        "a replica has one row for each key of its source",
        "Leave it out, or set headrace.sink.mode=append for a row for each change, or events to "
        "append events.",
    )


def _deletes(text: str) -> dict[str, str]:
    return {"deletes": "soft" if _flag("upsert-keep-deletes", text) else "hard"}


def _catalog(text: str) -> dict[str, str]:
    for kind, name in CLASSES.items():
        if name == text.strip():
            return {"catalog.type": kind}
    raise _impossible(
        "catalog-impl",
        text,
        "headrace does not know this catalog",
        f"Use headrace.sink.catalog.type, which is one of {', '.join(CLASSES)}.",
    )


_VALUES: Mapping[str, Callable[[str], dict[str, str]]] = {
    "upsert": _upsert,
    "upsert-keep-deletes": _deletes,
    "catalog-impl": _catalog,
}


def _flag(name: str, text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise _impossible(name, text, "it is a switch", "Set it to true or false.")
    return text.strip().lower() == "true"


def _impossible(name: str, text: str, why: str, remedy: str) -> HeadraceError:
    return HeadraceError(
        "iceberg.impossible_option", f"debezium.sink.iceberg.{name} = {text!r}: {why}", remedy
    )
