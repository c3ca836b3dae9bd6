"""Change events of relational tables, by name."""

from __future__ import annotations

from typing import Any

from tests.golden.transforms.inputs.envelopes import (
    COMMITTED,
    DB2,
    ORACLE,
    POSTGRESQL,
    TRANSACTION_PAYLOAD,
    Table,
    context_headers,
    heartbeat,
    logical_message,
    schema_change,
    transaction_border,
)
from tests.golden.transforms.inputs.schemas import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    JSON,
    MICRO_DURATION,
    MICRO_TIME,
    MICRO_TIMESTAMP,
    NANO_TIME,
    NANO_TIMESTAMP,
    STRING,
    TIME,
    TIMESTAMP,
    UUID,
    VARIABLE_SCALE_DECIMAL,
    ZONED_TIME,
    ZONED_TIMESTAMP,
    Record,
    array,
    decimal,
    header,
    mapping,
    optional,
    raw,
    scaled,
    struct,
    unscaled,
)

CUSTOMERS = Table(
    POSTGRESQL,
    "public.customers",
    {"id": INT32 | {"default": 0}},
    {
        "id": INT32 | {"default": 0},
        "name": STRING,
        "email": optional(STRING),
        "active": optional(BOOLEAN, default=True),
    },
)
ANNE = {"id": 1, "name": "Anne", "email": "anne@example.org", "active": True}
ANNA = {"id": 1, "name": "Anna", "email": None, "active": None}
KEY_ONLY = {"id": 1, "name": "", "email": None, "active": None}  # REPLICA IDENTITY DEFAULT

# Every type of a column; the values are of one instant in 2023.
COLUMN_TYPES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "id": (INT64, 7, 7),
    "tiny": (optional(INT8), -8, 8),
    "small": (optional(INT16), -300, 300),
    "whole": (optional(INT32, default=41), 42, None),
    "large": (optional(INT64), 2**53 + 1, -(2**63)),
    "single": (optional(FLOAT), 1.5, -0.25),
    "double": (optional(DOUBLE), 0.1, 1e300),
    "flag": (optional(BOOLEAN, default=False), True, None),
    "text": (optional(STRING, default="none"), "Łódź €😀", None),
    "code": (STRING | {"default": "A"}, "B", "C"),
    "bytes": (optional(BYTES), raw(b"\0\xffabc"), raw(b"")),
    "price": (optional(decimal(2)), unscaled(12345), unscaled(-1)),
    "exact": (optional(VARIABLE_SCALE_DECIMAL), scaled(123456789, 5), scaled(-7, 0)),
    "date": (optional(DATE), 19675, -1),
    "time_ms": (optional(TIME), 80_000_123, 0),
    "time_us": (optional(MICRO_TIME), 80_000_123_456, 0),
    "time_ns": (optional(NANO_TIME), 80_000_123_456_789, 0),
    "at_ms": (optional(TIMESTAMP), COMMITTED, -1),
    "at_us": (optional(MICRO_TIMESTAMP), COMMITTED * 1000 + 456, -1),
    "at_ns": (optional(NANO_TIMESTAMP), COMMITTED * 1_000_000 + 456_789, -1),
    "zoned": (optional(ZONED_TIMESTAMP), "2023-11-14T22:13:20.123456Z", "1969-12-31T23:59:59Z"),
    "zoned_time": (optional(ZONED_TIME), "22:13:20.123456Z", "00:00:00Z"),
    "duration": (optional(MICRO_DURATION), 1_000_000, -1),
    "json": (optional(JSON), '{"a": [1, null]}', "null"),
    "uuid": (optional(UUID), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None),
    "tags": (array(optional(STRING), optional=True), ["a", None, ""], []),
    "counts": (mapping(STRING, optional(STRING), optional=True), {"a": "1", "b": None}, {}),
    "point": (
        optional(struct("io.debezium.data.geometry.Point", {"x": DOUBLE, "y": DOUBLE,
                 "wkb": optional(BYTES), "srid": optional(INT32)}, version=1, doc="Geometry")),
        {"x": 1.5, "y": -2.0, "wkb": raw(b"\1\1"), "srid": None},
        {"x": 0.0, "y": 0.0, "wkb": None, "srid": 4326},
    ),
}  # fmt: skip
TYPES = Table(
    POSTGRESQL,
    "public.types",
    {"id": INT64},
    {name: types[0] for name, types in COLUMN_TYPES.items()},
)
FULL_TYPES = {name: types[1] for name, types in COLUMN_TYPES.items()}
OTHER_TYPES = {name: types[2] for name, types in COLUMN_TYPES.items()}
NULL_TYPES = {
    name: None if types[0]["optional"] else types[1] for name, types in COLUMN_TYPES.items()
}
_SUMMER = 1_719_835_200_000  # 2024-07-01T12:00:00Z
SUMMER = {"at_ms": _SUMMER, "at_us": _SUMMER * 1000 + 1, "at_ns": _SUMMER * 1_000_000 + 1,
          "zoned": "2024-07-01T12:00:00.000000001Z", "zoned_time": "12:00:00+02:00"}  # fmt: skip
_WINTER = 1_704_110_400_000  # 2024-01-01T12:00:00Z
WINTER = {"at_ms": _WINTER, "at_us": _WINTER * 1000 + 1, "at_ns": _WINTER * 1_000_000 + 1,
          "zoned": "2024-01-01T12:00:00-08:00", "zoned_time": "23:59:59.999Z"}  # fmt: skip
ZEROS = Table(
    POSTGRESQL,
    "public.zeros",
    {"id": INT32},
    {"id": INT32, "single": FLOAT, "double": DOUBLE, "o_double": optional(DOUBLE, default=0.0),
     "list": array(DOUBLE), "point": struct("p", {"x": DOUBLE})},
)  # fmt: skip
KEYLESS = Table(POSTGRESQL, "public.log", {}, {"line": optional(STRING)})


def _zeros(zero: float) -> dict[str, Any]:
    return {"id": 1, "single": zero, "double": zero, "o_double": zero, "list": [zero],
            "point": {"x": zero}}  # fmt: skip


ORDERS = Table(  # two shards of one table
    POSTGRESQL,
    "shard_1.orders",
    {"id": INT32, "region": STRING},
    {
        "id": INT32,
        "region": STRING,
        "total": decimal(2, default="AA=="),
        "note": optional(STRING),
    },
)
ORDERS_2 = Table(POSTGRESQL, "shard_2.orders", ORDERS.key, ORDERS.columns)
ORDER = {"id": 10, "region": "eu", "total": unscaled(1999), "note": None}

ORACLE_CUSTOMERS = Table(
    ORACLE,
    "INVENTORY.CUSTOMERS",
    {"ID": INT32},
    {
        "ID": INT32,
        "FIRST_NAME": STRING,
        "BALANCE": optional(VARIABLE_SCALE_DECIMAL),
        "RATE": optional(decimal(3)),
        "CREATED": optional(TIMESTAMP),
        "SEEN": optional(ZONED_TIMESTAMP),
    },
)
SALLY = {"ID": 1001, "FIRST_NAME": "Sally", "BALANCE": scaled(-12_345_678_901_234_567_890, 6),
         "RATE": unscaled(1500), "CREATED": 1_520_085_154_000,
         "SEEN": "2018-03-03T13:52:34.000001+01:00"}  # fmt: skip
SALLIE = SALLY | {"FIRST_NAME": "Sallie", "BALANCE": None, "SEEN": None}
ORACLE_NUMBERS = Table(  # NUMBER without scale as key
    ORACLE,
    "INVENTORY.NUMBERS",
    {"ID": VARIABLE_SCALE_DECIMAL},
    {"ID": VARIABLE_SCALE_DECIMAL, "N": optional(VARIABLE_SCALE_DECIMAL)},
)
NUMBER = {"ID": scaled(42, 0), "N": scaled(314159, 5)}

DB2_CUSTOMERS = Table(
    DB2,
    "MYSCHEMA.CUSTOMERS",
    {"ID": INT32},
    {
        "ID": INT32,
        "FIRST_NAME": STRING,
        "EMAIL": optional(STRING),
        "SCORE": optional(DOUBLE),
        "BORN": optional(DATE),
    },
)
JOHN = {"ID": 1005, "FIRST_NAME": "john", "EMAIL": "john.doe@example.org", "SCORE": 0.5,
        "BORN": 3652}  # fmt: skip
JON = JOHN | {"FIRST_NAME": "jon", "EMAIL": None, "SCORE": None}


def _postgresql() -> dict[str, Record]:
    table = CUSTOMERS
    newkey = header("__debezium.newkey", table.key_part(ANNE)["schema"], {"id": 2})  # type: ignore[index]
    dropped = array(STRING)
    return {
        "pg_create": table.event("c", None, ANNE, partition=3, timestamp=COMMITTED),
        "pg_read": table.event("r", None, ANNE, headers=context_headers(POSTGRESQL)),
        "pg_update": table.event("u", None, ANNA),
        "pg_update_before": table.event(
            "u", ANNE, ANNA, transaction=TRANSACTION_PAYLOAD, headers=context_headers(POSTGRESQL)
        ),
        "pg_update_same": table.event("u", ANNE, ANNE),
        "pg_delete": table.event("d", KEY_ONLY, None, timestamp=COMMITTED),
        "pg_delete_full": table.event("d", ANNE, None, transaction=TRANSACTION_PAYLOAD),
        "pg_delete_newkey": table.event("d", ANNE, None, headers=[newkey]),
        "pg_delete_nothing": table.event("d", None, None),
        "pg_tombstone": table.tombstone(ANNE, headers=[header("kept", STRING, "yes")]),
        "pg_truncate": table.event("t"),
        "pg_types": TYPES.event("c", None, FULL_TYPES),
        "pg_types_update": TYPES.event("u", FULL_TYPES, OTHER_TYPES),
        "pg_types_nulls": TYPES.event("u", FULL_TYPES, NULL_TYPES),
        "pg_types_delete": TYPES.event("d", FULL_TYPES, None),
        "summer": TYPES.event("c", None, FULL_TYPES | SUMMER),
        "winter": TYPES.event("c", None, FULL_TYPES | WINTER),
        "zeros_to_minus": ZEROS.event("u", _zeros(0.0), _zeros(-0.0)),
        "minus_to_zeros": ZEROS.event("u", _zeros(-0.0), _zeros(0.0)),
        "minus_zeros": ZEROS.event("u", _zeros(-0.0), _zeros(-0.0)),
        "pg_keyless": KEYLESS.event("c", None, {"line": "x"}),
        "pg_keyless_update": KEYLESS.event("u", {"line": "x"}, {"line": None}),
        "pg_shard_1": ORDERS.event("c", None, ORDER, headers=context_headers(POSTGRESQL)),
        "pg_shard_2": ORDERS_2.event("c", None, ORDER | {"id": 20}),
        "pg_shard_delete": ORDERS_2.event("d", ORDER | {"id": 20}, None),
        "pg_shard_tombstone": ORDERS_2.tombstone(ORDER | {"id": 20}),
        "pg_drop_listed": table.event(
            "c", None, ANNE, headers=[header("dropped", dropped, ["email", "name", "absent"])]
        ),
        "pg_drop_key": table.event(
            "u", ANNE, ANNA, headers=[header("dropped", dropped, ["id", "email"])]
        ),
        "pg_drop_delete": table.event("d", ANNE, headers=[header("dropped", dropped, ["email"])]),
        "pg_drop_delete_more": table.event(
            "d", ANNE, headers=[header("dropped", dropped, ["id", "name", "absent", "__deleted"])]
        ),
        "pg_drop_delete_nothing": table.event(
            "d", None, headers=[header("dropped", dropped, ["email", "name"])]
        ),
        "pg_drop_delete_key": table.event(
            "d", KEY_ONLY, headers=[header("dropped", dropped, ["active", "email", "name"])]
        ),
        "pg_drop_wrong": table.event("c", None, ANNE, headers=[header("dropped", STRING, "email")]),
        "pg_heartbeat": heartbeat(POSTGRESQL.prefix),
        "pg_begin": transaction_border(POSTGRESQL.prefix, is_end=False),
        "pg_end": transaction_border(POSTGRESQL.prefix, is_end=True),
        "pg_message": logical_message(),
    }


def _oracle() -> dict[str, Record]:
    table = ORACLE_CUSTOMERS
    return {
        "ora_create": table.event("c", None, SALLY),
        "ora_read": table.event("r", None, SALLY),
        "ora_update": table.event("u", SALLY, SALLIE, transaction=TRANSACTION_PAYLOAD),
        "ora_delete": table.event("d", SALLIE, None),
        "ora_tombstone": table.tombstone(SALLIE),
        "ora_truncate": table.event("t"),
        "ora_number": ORACLE_NUMBERS.event("c", None, NUMBER),
        "ora_number_delete": ORACLE_NUMBERS.event("d", NUMBER, None),
        **{f"ora_{kind.lower()}_table": schema_change(ORACLE, kind)
           for kind in ("CREATE", "ALTER", "DROP")},
        "ora_heartbeat": heartbeat(ORACLE.prefix),
    }  # fmt: skip


def _db2() -> dict[str, Record]:
    table = DB2_CUSTOMERS
    return {
        "db2_create": table.event("c", None, JOHN),
        "db2_read": table.event("r", None, JOHN),
        "db2_update": table.event("u", JOHN, JON),
        "db2_delete": table.event("d", JON, None),
        "db2_tombstone": table.tombstone(JON),
        "db2_alter_table": schema_change(DB2, "ALTER"),
        "db2_begin": transaction_border(DB2.prefix, is_end=False),
        "db2_end": transaction_border(DB2.prefix, is_end=True),
    }


def relational_records() -> dict[str, Record]:
    """The records of PostgreSQL, Oracle and Db2."""
    return {**_postgresql(), **_oracle(), **_db2()}
