"""Envelopes, source blocks and other records, as Debezium's relational connectors emit them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.golden.transforms.inputs.schemas import (
    BYTES,
    INT32,
    INT64,
    STRING,
    Record,
    Schema,
    array,
    header,
    optional,
    part,
    record,
    schema,
    struct,
)

COMMITTED = 1_700_000_000_123  # milliseconds: 2023-11-14T22:13:20.123Z
SNAPSHOT_MARKER = schema(
    "string",
    "io.debezium.data.Enum",
    optional=True,
    version=1,
    parameters={
        "allowed": "true,first,first_in_data_collection,last_in_data_collection,last,false,"
        "incremental"
    },
    default="false",
)
TRANSACTION = struct(
    "event.block",
    {"id": STRING, "total_order": INT64, "data_collection_order": INT64},
    optional=True,
    version=1,
)
TRANSACTION_PAYLOAD = {"id": "749:29804432", "total_order": 2, "data_collection_order": 1}
_TEXT, _LONG, _INT = optional(STRING), optional(INT64), optional(INT32)
HEAD = {
    "version": STRING,
    "connector": STRING,
    "name": STRING,
    "ts_ms": INT64,
    "snapshot": SNAPSHOT_MARKER,
    "db": STRING,
    "sequence": _TEXT,
    "ts_us": _LONG,
    "ts_ns": _LONG,
}


@dataclass(frozen=True)
class Database:
    """A connector and what its source block says of one change."""

    connector: str
    source_name: str
    prefix: str
    catalog: str
    own: Mapping[str, Schema]  # fields of the source block after the shared ones
    changed: Mapping[str, Any]  # and their values, for a change
    snapshotted: Mapping[str, Any] = field(default_factory=dict)  # and for a snapshot's row
    sequence: str | None = None

    def source_schema(self) -> Schema:
        """The schema of `source`."""
        return struct(self.source_name, {**HEAD, **self.own}, version=1)

    def source(self, table: str, operation: str) -> dict[str, Any]:
        """The payload of `source`; the table is `schema.table`."""
        namespace, _, name = table.rpartition(".")
        is_snapshot = operation == "r"
        members = {**self.changed, **(self.snapshotted if is_snapshot else {})}
        return {
            "version": "3.6.3.Final",
            "connector": self.connector,
            "name": self.prefix,
            "ts_ms": COMMITTED,
            "snapshot": "first" if is_snapshot else "false",
            "db": self.catalog,
            "sequence": None if is_snapshot else self.sequence,
            "ts_us": COMMITTED * 1000 + 456,
            "ts_ns": COMMITTED * 1_000_000 + 456_000,
            "schema": namespace,
            "table": name,
            **members,
        }


POSTGRESQL = Database(
    "postgresql",
    "io.debezium.connector.postgresql.Source",
    "shop",
    "inventory",
    {"schema": STRING, "table": STRING, "txId": _LONG, "lsn": _LONG, "xmin": _LONG,
     "origin": _TEXT, "origin_lsn": _LONG},
    {"txId": 749, "lsn": 29_804_432, "xmin": None, "origin": None, "origin_lsn": None},
    sequence='["29804376","29804432"]',
)  # fmt: skip
ORACLE = Database(
    "oracle",
    "io.debezium.connector.oracle.Source",
    "server1",
    "ORCLPDB1",
    {"schema": STRING, "table": STRING, "txId": _TEXT, "scn": _TEXT, "commit_scn": _TEXT,
     "lcr_position": _TEXT, "rs_id": _TEXT, "ssn": _LONG, "redo_thread": _INT, "user_name": _TEXT,
     "redo_sql": _TEXT, "row_id": _TEXT, "commit_ts_ms": _LONG, "start_scn": _TEXT,
     "start_ts_ms": _LONG, "txSeq": _LONG},
    {"txId": "06001c0027030000", "scn": "2122185", "commit_scn": "2122186", "lcr_position": None,
     "rs_id": "001234.00012345.0124", "ssn": 0, "redo_thread": 1, "user_name": "APP",
     "redo_sql": None, "row_id": "AAASgjAAMAAAACnAAA", "commit_ts_ms": COMMITTED,
     "start_scn": "2122185", "start_ts_ms": COMMITTED, "txSeq": 1},
    {"txId": None, "commit_scn": None, "rs_id": None, "redo_thread": None, "user_name": None,
     "row_id": None, "commit_ts_ms": None, "start_scn": None, "start_ts_ms": None, "txSeq": None},
)  # fmt: skip
DB2 = Database(
    "db2",
    "io.debezium.connector.db2.Source",
    "mydatabase",
    "TESTDB",
    {"schema": STRING, "table": STRING, "change_lsn": _TEXT, "commit_lsn": _TEXT},
    {"change_lsn": "00000000:00000000:000000000048c2f1",
     "commit_lsn": "00000000:00000000:000000000048c31b"},
    {"change_lsn": None},
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A captured table: makes its records."""

    database: Database
    name: str  # schema.table
    key: Mapping[str, Schema]
    columns: Mapping[str, Schema]

    @property
    def topic(self) -> str:
        return f"{self.database.prefix}.{self.name}"

    def row_schema(self) -> Schema:
        """The schema of `before` and `after`."""
        return struct(f"{self.topic}.Value", self.columns, optional=True)

    def envelope_schema(self) -> Schema:
        """The schema of a change event's value."""
        row = self.row_schema()
        fields = {
            "before": row,
            "after": row,
            "source": self.database.source_schema(),
            "transaction": TRANSACTION,
            "op": STRING,
            "ts_ms": _LONG,
            "ts_us": _LONG,
            "ts_ns": _LONG,
        }
        return struct(f"{self.topic}.Envelope", fields, version=2)

    def key_part(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """The record's key; null for a table without one."""
        if not self.key:
            return None
        payload = {name: row[name] for name in self.key}
        return part(struct(f"{self.topic}.Key", self.key), payload)

    def event(
        self,
        operation: str,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Record:
        """A change event; `more` are `transaction`, `headers`, `partition` and `timestamp`."""
        transaction = more.pop("transaction", None)
        value = {
            "before": before and dict(before),
            "after": after and dict(after),
            "source": self.database.source(self.name, operation),
            "transaction": transaction,
            "op": operation,
            "ts_ms": COMMITTED + 877,
            "ts_us": COMMITTED * 1000 + 877_654,
            "ts_ns": COMMITTED * 1_000_000 + 877_654_321,
        }
        row = after or before
        key = self.key_part(row) if row else None
        return record(self.topic, key, part(self.envelope_schema(), value), **more)

    def tombstone(self, row: Mapping[str, Any], **more: Any) -> Record:
        """The tombstone of a deleted row."""
        return record(self.topic, self.key_part(row), None, **more)


def context_headers(database: Database) -> list[dict[str, Any]]:
    """The headers that the connectors add to each row."""
    values = {"connectorLogicalName": database.prefix, "taskId": "0",
              "connectorName": database.connector}  # fmt: skip
    return [header(f"__debezium.context.{name}", STRING, text) for name, text in values.items()]


def heartbeat(prefix: str) -> Record:
    """A heartbeat."""
    key = struct("io.debezium.connector.common.ServerNameKey", {"serverName": STRING}, version=1)
    value = struct("io.debezium.connector.common.Heartbeat", {"ts_ms": INT64}, version=1)
    return record(
        f"__debezium-heartbeat.{prefix}",
        part(key, {"serverName": prefix}),
        part(value, {"ts_ms": COMMITTED}),
    )


def transaction_border(prefix: str, is_end: bool) -> Record:
    """The begin or the end of a transaction."""
    package = "io.debezium.connector.common.TransactionMetadata"
    counted = struct(
        "event.collection",
        {"data_collection": STRING, "event_count": INT64},
        optional=True,
        version=1,
    )
    value = {
        "status": STRING,
        "id": STRING,
        "event_count": _LONG,
        "data_collections": array(counted, optional=True),
        "ts_ms": INT64,
    }
    counts = [{"data_collection": "public.a", "event_count": 3},
              {"data_collection": "public.b", "event_count": 2}]  # fmt: skip
    payload = {
        "status": "END" if is_end else "BEGIN",
        "id": "967:129905320",
        "event_count": 5 if is_end else None,
        "data_collections": counts if is_end else None,
        "ts_ms": COMMITTED,
    }
    return record(
        f"{prefix}.transaction",
        part(struct(f"{package}Key", {"id": STRING}, version=1), {"id": payload["id"]}),
        part(struct(f"{package}Value", value, version=1), payload),
    )


def logical_message() -> Record:
    """A logical decoding message of PostgreSQL."""
    package = "io.debezium.connector.postgresql.Message"
    content = {"prefix": _TEXT, "content": optional(BYTES)}
    value = {
        "op": STRING,
        "ts_ms": _LONG,
        "source": POSTGRESQL.source_schema(),
        "transaction": TRANSACTION,
        "message": struct(package, content, version=1),
    }
    payload = {
        "op": "m",
        "ts_ms": COMMITTED + 1,
        "source": POSTGRESQL.source(".", "m"),
        "transaction": None,
        "message": {"prefix": "audit", "content": "aW4gYSB0cmFuc2FjdGlvbg=="},
    }
    return record(
        f"{POSTGRESQL.prefix}.message",
        part(struct(f"{package}Key", {"prefix": _TEXT}, version=1), {"prefix": "audit"}),
        part(struct(f"{package}Value", value, version=1), payload),
    )


def schema_change(database: Database, kind: str) -> Record:
    """A schema change event; `kind` is CREATE, ALTER or DROP."""
    package = f"io.debezium.connector.{database.connector}"
    column = struct(
        "io.debezium.connector.schema.Column",
        {"name": STRING, "jdbcType": INT32, "nativeType": _INT, "typeName": STRING,
         "typeExpression": _TEXT, "charsetName": _TEXT, "length": _INT, "scale": _INT,
         "position": INT32, "optional": optional(schema("boolean")),
         "autoIncremented": optional(schema("boolean")),
         "generated": optional(schema("boolean")), "comment": _TEXT,
         "defaultValueExpression": _TEXT, "enumValues": array(STRING, optional=True)},
        version=1,
    )  # fmt: skip
    table = struct(
        "io.debezium.connector.schema.Table",
        {"defaultCharsetName": _TEXT, "primaryKeyColumnNames": array(STRING, optional=True),
         "columns": array(column), "comment": _TEXT},
        optional=True,
        version=1,
    )  # fmt: skip
    change = struct(
        "io.debezium.connector.schema.Change",
        {"type": STRING, "id": STRING, "table": table},
        version=1,
    )
    value = {
        "source": database.source_schema(),
        "ts_ms": INT64,
        "databaseName": _TEXT,
        "schemaName": _TEXT,
        "ddl": _TEXT,
        "tableChanges": array(change),
    }
    described = {
        "defaultCharsetName": None,
        "primaryKeyColumnNames": ["ID"],
        "columns": [
            {"name": "ID", "jdbcType": 2, "nativeType": None, "typeName": "NUMBER",
             "typeExpression": "NUMBER", "charsetName": None, "length": 9, "scale": 0,
             "position": 1, "optional": False, "autoIncremented": False, "generated": False,
             "comment": None, "defaultValueExpression": None, "enumValues": None},
        ],
        "comment": None,
    }  # fmt: skip
    identifier = f'"{database.catalog}"."INVENTORY"."CUSTOMERS"'
    payload = {
        "source": database.source("INVENTORY.CUSTOMERS", "c"),
        "ts_ms": COMMITTED,
        "databaseName": database.catalog,
        "schemaName": "INVENTORY",
        "ddl": f"{kind} TABLE CUSTOMERS",
        "tableChanges": [
            {"type": kind, "id": identifier, "table": None if kind == "DROP" else described}
        ],
    }
    key = struct(f"{package}.SchemaChangeKey", {"databaseName": STRING}, version=1)
    return record(
        database.prefix,
        part(key, {"databaseName": database.catalog}),
        part(struct(f"{package}.SchemaChangeValue", value, version=1), payload),
    )
