"""The options of Iceberg's catalog and of the tables in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headrace.config.secret import names_a_secret, without_passwords, without_secrets
from headrace.errors import HeadraceError
from headrace.sinks.iceberg.s3 import (
    access_of,
    is_s3,
    java_properties,
    names_s3,
    s3_warehouse,
)
from headrace.sinks.replicas.files.s3 import SCHEMES, S3Access

CATALOG, TABLE = "catalog.", "table."
OPTIONS = ("warehouse", "catalog.type", "catalog.name", "catalog.uri", "format-version")
CLASSES = {
    "jdbc": "org.apache.iceberg.jdbc.JdbcCatalog",
    "rest": "org.apache.iceberg.rest.RESTCatalog",
    "hadoop": "org.apache.iceberg.hadoop.HadoopCatalog",
}
"""Iceberg's catalogs by `catalog.type`."""
SQLITE = "jdbc:sqlite:"
RELEASE = "1.12.0"
_CORE = (
    *(
        f"org.apache.iceberg:iceberg-{part}:{RELEASE}"
        for part in ("api", "core", "common", "bundled-guava")
    ),
    "com.github.ben-manes.caffeine:caffeine:3.2.4",
)
_HTTP = (
    "org.apache.httpcomponents.client5:httpclient5:5.6.4",
    "org.apache.httpcomponents.core5:httpcore5:5.4.3",
    "org.apache.httpcomponents.core5:httpcore5-h2:5.4.3",
)
_S3 = (
    *(f"org.apache.iceberg:iceberg-{part}:{RELEASE}" for part in ("aws", "aws-bundle")),
    "dev.failsafe:failsafe:3.3.2",
)
LOCAL_DATABASE = "org.xerial:sqlite-jdbc:3.46.1.3"
_ADDRESS = re.compile(r"jdbc:[A-Za-z][\w.+-]*:.*", re.DOTALL)
_PARAMETER = re.compile(r"[?&;]([^=?&;]+)=(\{[^}]*\}|[^&;]*)")
_BUSY_MS = "30000"
"""Milliseconds that a commit waits for commits of other tables, which SQLite serializes."""
_OBJECT_STORES = (*SCHEMES, "gs", "abfs", "abfss", "wasb", "wasbs", "oss", "cosn", "obs")
_SET_HERE = ("format-version", "comment")
"""Properties of tables, besides those of headrace, that options cannot set."""


@dataclass(frozen=True)
class IcebergOptions:
    """The validated options. `warehouse` is a location in the form of metadata; `properties` are
    the catalog's, which include secrets that `repr` does not show; `table` are those of new tables;
    `s3` is the access to data files (None: they are local)."""

    kind: str
    catalog: str
    warehouse: str
    properties: Mapping[str, str] = field(repr=False)
    table: Mapping[str, str]
    s3: S3Access | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> IcebergOptions:
        """Parse the options. Raises HeadraceError("iceberg.impossible_option"),
        ("iceberg.option_missing"), ("iceberg.storage_not_supported")."""
        kind = options.get("catalog.type", "jdbc").lower()
        if kind not in CLASSES:
            raise _impossible(
                "catalog.type",
                without_passwords(kind),
                "headrace does not know this catalog",
                f"Use one of {', '.join(CLASSES)}.",
            )
        if (version := options.get("format-version", "3")) != "3":
            why = "headrace deletes rows by deletion vectors, which tables have from version 3 on"
            if version == "2":
                why += "; version 2 is not supported yet"
            raise _impossible("format-version", version, why, "Leave it out, or set it to 3.")
        warehouse = _warehouse(options.get("warehouse", ""), kind)
        properties = {
            name.removeprefix(CATALOG): value
            for name, value in options.items()
            if name.startswith(CATALOG) and name not in ("catalog.type", "catalog.name")
        }
        s3 = None
        if is_s3(warehouse) or (kind == "rest" and names_s3(properties)):
            s3, properties = access_of(properties), java_properties(properties)
        else:
            properties = {"io-impl": "org.apache.iceberg.hadoop.HadoopFileIO"} | properties
        if warehouse:
            properties["warehouse"] = warehouse
        if kind == "jdbc":
            _require_database(warehouse, properties)
            folder = warehouse.removeprefix("file:")
            properties.setdefault("uri", f"{SQLITE}{folder}/catalog.db")
            properties.setdefault("jdbc.schema-version", "V1")
            if not _ADDRESS.fullmatch(properties["uri"]):
                raise _impossible(
                    "catalog.uri",
                    without_passwords(properties["uri"]),
                    "a JDBC catalog needs the address of a database for Java",
                    "Set it to jdbc:PRODUCT://HOST/DATABASE, or set headrace.sink.catalog.type.",
                )
            if properties["uri"].startswith(SQLITE):
                properties.setdefault("jdbc.busy_timeout", _BUSY_MS)
        if kind == "rest" and "uri" not in properties:
            raise HeadraceError(
                "iceberg.option_missing",
                "headrace.sink.catalog.type=rest needs headrace.sink.catalog.uri",
                "Set it to the address of the REST catalog.",
            )
        table = {
            name.removeprefix(TABLE): value
            for name, value in options.items()
            if name.startswith(TABLE)
        }
        for name, value in table.items():
            if name in _SET_HERE or name.startswith("headrace."):
                raise _impossible(
                    f"table.{name}", without_passwords(value), "headrace sets it", "Leave it out."
                )
        catalog = options.get("catalog.name", "headrace")
        return cls(kind, catalog, warehouse, properties, table, s3)

    @property
    def packages(self) -> tuple[str, ...]:
        """Maven coordinates of the jars that this catalog needs."""
        files = () if self.s3 is None else _S3
        if self.kind == "rest":
            return _CORE + _HTTP + files
        return (*_CORE, *self.drivers, *files)

    @property
    def drivers(self) -> tuple[str, ...]:
        """Maven coordinates of the JDBC driver that headrace includes: SQLite's."""
        is_local = self.kind == "jdbc" and self.properties["uri"].startswith(SQLITE)
        return (LOCAL_DATABASE,) if is_local else ()

    def safe(self, text: str) -> str:
        """The text without the secrets of the options."""
        secrets = [
            value
            for name, value in self.properties.items()
            if value and (names_a_secret(name) or "credential" in name.lower())
        ]
        secrets += _secrets_of_address(self.properties.get("uri", ""))
        return without_passwords(without_secrets(text, secrets))


def _warehouse(text: str, kind: str) -> str:
    """The location of the warehouse; a REST catalog may have its own."""
    if not text and kind != "rest":
        raise HeadraceError(
            "iceberg.option_missing",
            "headrace.sink.type=iceberg needs headrace.sink.warehouse",
            "Set headrace.sink.warehouse to the folder of the tables.",
        )
    if kind == "rest" and ("://" not in text or is_s3(text)):
        return text  # a name that the server knows, or a location
    scheme, colon, rest = text.partition(":")
    if not colon or "/" in scheme:
        return str(Path(text).expanduser().absolute())
    if scheme == "file":
        return text if kind == "rest" else "/" + rest.lstrip("/").rstrip("/")
    if kind == "jdbc" and is_s3(text):
        return s3_warehouse(text)
    if kind == "hadoop" and scheme.lower() in _OBJECT_STORES:
        raise _impossible(
            "catalog.type",
            kind,
            f"a Hadoop catalog commits by renaming a file, which is not atomic on {scheme}://",
            "Use a JDBC or a REST catalog, or a warehouse on a local disk.",
        )
    raise HeadraceError(
        "iceberg.storage_not_supported",
        f"headrace.sink.warehouse is on {scheme}://, and headrace writes Iceberg tables only on "
        "local file systems and on S3",
        "Set headrace.sink.warehouse to a path that this host and all workers have, or to "
        "s3://BUCKET/FOLDER.",
    )


def _require_database(warehouse: str, properties: Mapping[str, str]) -> None:
    """Refuse a warehouse on S3 without a database: SQLite, the default, needs a local file."""
    if is_s3(warehouse) and "uri" not in properties:
        raise HeadraceError(
            "iceberg.option_missing",
            "headrace.sink.warehouse is on S3, where SQLite cannot keep a JDBC catalog, so it "
            "needs headrace.sink.catalog.uri",
            "Set headrace.sink.catalog.uri to a database's address, jdbc:PRODUCT://HOST/DATABASE, "
            "or to jdbc:sqlite:/PATH/catalog.db of this host, or use "
            "headrace.sink.catalog.type=rest.",
        )


def _secrets_of_address(uri: str) -> Iterator[str]:
    """Values of secret parameters in a database's address. They may contain characters at which
    general rules would end a value."""
    for name, value in _PARAMETER.findall(uri):
        if value and names_a_secret(name):
            yield value


def _impossible(name: str, value: str, why: str, remedy: str) -> HeadraceError:
    return HeadraceError(
        "iceberg.impossible_option", f"headrace.sink.{name} = {value!r}: {why}", remedy
    )
