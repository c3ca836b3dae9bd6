"""Properties of the connectors of relational databases: schemas, tables, columns, SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from headrace.config.finding import PropertyFinding
from headrace.config.kinds import (
    BOOLEAN,
    COMMA_LIST,
    JAVA_CLASS,
    KEY_COLUMNS,
    REGEX_LIST,
    SECRET,
    TEXT,
    choice,
    integer,
    matching,
    milliseconds,
    one_of,
)
from headrace.config.properties.connector import ConnectorConfig
from headrace.config.properties.modes import (
    BinaryHandlingMode,
    CaseTwins,
    DecimalHandlingMode,
    TimePrecisionMode,
)
from headrace.config.property import (
    REQUIRED,
    Family,
    Group,
    PassThrough,
    Property,
    not_needed,
    refused,
)

_JAVA = refused("headrace cannot load Java classes")
_AS_READ = not_needed("a chunk has the columns that its table has when it is read")


class RelationalConfig(ConnectorConfig):
    """The properties that connectors of relational databases share."""

    exclusive: ClassVar[tuple[tuple[str, str], ...]] = (
        ("schema.include.list", "schema.exclude.list"),
        ("table.include.list", "table.exclude.list"),
        ("column.include.list", "column.exclude.list"),
    )

    schema_include_list = Property(
        "schema.include.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for schemas; if it is empty, every schema.",
        formerly=("schema.whitelist",),
    )
    schema_exclude_list = Property(
        "schema.exclude.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for schemas that are left out.",
        formerly=("schema.blacklist",),
    )
    table_include_list = Property(
        "table.include.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for `schema.table`; if it is empty, every table.",
        formerly=("table.whitelist",),
    )
    table_exclude_list = Property(
        "table.exclude.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for `schema.table` that are left out.",
        formerly=("table.blacklist",),
    )
    column_include_list = Property(
        "column.include.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for `schema.table.column`; key columns always stay in the key.",
        formerly=("column.whitelist",),
    )
    column_exclude_list = Property(
        "column.exclude.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for `schema.table.column` that are left out of values.",
        formerly=("column.blacklist",),
    )
    table_ignore_builtin = Property(
        "table.ignore.builtin",
        BOOLEAN,
        "true",
        Group.CAPTURED,
        "Leaves out the database's own tables.",
        status=refused("the database's own tables are never captured"),
    )
    headrace_case_twins = Property(
        "headrace.case.twins",
        choice(CaseTwins),
        "fail",
        Group.HEADRACE,
        "The effect of a table with columns whose names differ by case only, which Debezium "
        "cannot distinguish: `fail` ends the query (`debezium.case_twins`); with `take` its "
        "events have both columns. Sinks of replicas set `take`, and stop that table only.",
    )
    message_key_columns = Property(
        "message.key.columns",
        KEY_COLUMNS,
        "",
        Group.CAPTURED,
        "Key columns instead of the primary key: `schema.table:a,b;…`. Tables and columns are "
        "regular expressions; a table has the columns of all entries that match.",
    )
    skip_messages_without_change = Property(
        "skip.messages.without.change",
        BOOLEAN,
        "false",
        Group.CAPTURED,
        "Drops updates that change no captured column, if the log contains the whole old row.",
    )
    include_schema_comments = Property(
        "include.schema.comments",
        BOOLEAN,
        "false",
        Group.CAPTURED,
        "Column comments become the schema's doc.",
    )
    time_precision_mode = Property(
        "time.precision.mode",
        choice(TimePrecisionMode),
        "adaptive",
        Group.VALUES,
        "Representation of dates and times; `structured` gives the structs of Debezium 3.7.",
    )
    decimal_handling_mode = Property(
        "decimal.handling.mode",
        choice(DecimalHandlingMode),
        "precise",
        Group.VALUES,
        "Representation of numeric columns: Connect Decimal, double, or text.",
    )
    binary_handling_mode = Property(
        "binary.handling.mode",
        choice(BinaryHandlingMode),
        "bytes",
        Group.VALUES,
        "Representation of binary columns.",
    )
    interval_handling_mode = Property(
        "interval.handling.mode",
        one_of("numeric", "string"),
        "numeric",
        Group.VALUES,
        "Representation of interval columns.",
    )
    unavailable_value_placeholder = Property(
        "unavailable.value.placeholder",
        TEXT,
        "__debezium_unavailable_value",
        Group.VALUES,
        "Replaces a value that the log does not contain; `hex:…` gives raw bytes.",
        formerly=("toasted.value.placeholder",),
    )
    column_truncate = Family(
        "column.truncate.to.LENGTH.chars",
        REGEX_LIST,
        Group.VALUES,
        "Cuts texts of the listed columns to LENGTH characters.",
        pattern=r"column\.truncate\.to\.(\d+)\.chars",
        case_matters=False,
    )
    column_mask = Family(
        "column.mask.with.LENGTH.chars",
        REGEX_LIST,
        Group.VALUES,
        "Replaces texts of the listed columns by LENGTH asterisks.",
        pattern=r"column\.mask\.with\.(\d+)\.chars",
        case_matters=False,
    )
    column_mask_hash_v2 = Family(
        "column.mask.hash.v2.ALGORITHM.with.salt.SALT",
        REGEX_LIST,
        Group.VALUES,
        "Replaces texts of the listed columns by a salted hash.",
        pattern=r"column\.mask\.hash\.v2\.([^.]+)\.with\.salt\.(.+)",
    )
    column_mask_hash = Family(
        "column.mask.hash.ALGORITHM.with.salt.SALT",
        REGEX_LIST,
        Group.VALUES,
        "As column.mask.hash.v2.ALGORITHM.with.salt.SALT, but with the hash of Java's serialised "
        "text.",
        pattern=r"column\.mask\.hash\.([^.]+)\.with\.salt\.(.+)",
    )
    column_propagate_source_type = Property(
        "column.propagate.source.type",
        REGEX_LIST,
        "",
        Group.VALUES,
        "Columns whose schemas contain their type in the database.",
    )
    datatype_propagate_source_type = Property(
        "datatype.propagate.source.type",
        REGEX_LIST,
        "",
        Group.VALUES,
        "Types whose columns' schemas contain their type in the database.",
    )
    heartbeat_action_query = Property(
        "heartbeat.action.query",
        TEXT,
        None,
        Group.TOPICS,
        "SQL to run with each heartbeat. A missing table is an error; other failures are warnings.",
    )
    database_hostname = Property(
        "database.hostname",
        matching(r"[A-Za-z0-9._:/-]+", "a host name or an address"),
        REQUIRED,
        Group.CONNECTION,
        "Host of the server.",
        formerly=("database.host", "hostname"),
    )
    database_port = Property(
        "database.port", integer(1, 65535), REQUIRED, Group.CONNECTION, "TCP port of the server."
    )
    database_user = Property(
        "database.user",
        TEXT,
        REQUIRED,
        Group.CONNECTION,
        "A user that may log in and read the log; `headrace check` says what it lacks.",
        formerly=("database.username",),
    )
    database_password = Property(
        "database.password",
        SECRET,
        None,
        Group.CONNECTION,
        "The user's password; a reference such as ${env:NAME} keeps it out of files.",
    )
    database_dbname = Property(
        "database.dbname",
        TEXT,
        REQUIRED,
        Group.CONNECTION,
        "The database; one per connector.",
        formerly=("database.name", "database.names", "database.database"),
    )
    driver = PassThrough(
        "driver.*", TEXT, Group.CONNECTION, "Connection parameters of the driver, by its names."
    )
    database_options = PassThrough(
        "database.*",
        TEXT,
        Group.CONNECTION,
        "Settings of the Java driver.",
        status=not_needed(
            "database.* configures the Java driver (driver.* is for the driver that headrace "
            "uses), and schema.history.internal.* has replaced database.history.*"
        ),
    )
    database_connection_factory_class = Property(
        "database.connection.factory.class",
        JAVA_CLASS,
        None,
        Group.CONNECTION,
        "Opens connections.",
        status=_JAVA,
    )
    database_query_timeout_ms = Property(
        "database.query.timeout.ms",
        milliseconds(),
        "600000",
        Group.CONNECTION,
        "Limit for catalogue queries; 0 means no limit. Reading rows has no limit.",
    )
    snapshot_locking_mode = Property(
        "snapshot.locking.mode",
        one_of("none", "shared", "custom"),
        "shared",
        Group.SNAPSHOT,
        "Locks on tables during the snapshot: `shared` prevents changes of their structure.",
        refused_values=("custom",),
    )
    snapshot_lock_timeout_ms = Property(
        "snapshot.lock.timeout.ms",
        milliseconds(),
        "10000",
        Group.SNAPSHOT,
        "Limit for taking a lock.",
    )
    snapshot_select_statement_overrides = Property(
        "snapshot.select.statement.overrides",
        COMMA_LIST,
        "",
        Group.SNAPSHOT,
        "Tables (schema.table) that the snapshot reads with their own statement.",
    )
    snapshot_select_statement_overrides_options = Family(
        "snapshot.select.statement.overrides.TABLE",
        TEXT,
        Group.SNAPSHOT,
        "The SELECT with which the snapshot reads a table of snapshot.select.statement.overrides. "
        "Columns that it does not return are null.",
        pattern=r"snapshot\.select\.statement\.overrides\.(.+)",
        alias_of=("snapshot.select.statement.overrides",),
    )
    snapshot_tables_order_by_row_count = Property(
        "snapshot.tables.order.by.row.count",
        one_of("disabled", "ascending", "descending"),
        "disabled",
        Group.SNAPSHOT,
        "Reads small or large tables first, by the statistics' number of rows. Large tables "
        "whose read cannot continue after a restart are read before all others.",
    )
    incremental_snapshot_allow_schema_changes = Property(
        "incremental.snapshot.allow.schema.changes",
        BOOLEAN,
        "false",
        Group.SNAPSHOT,
        "Schema changes during an incremental snapshot.",
        status=_AS_READ,
    )

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        if self.unavailable_value_placeholder.startswith("hex:"):
            try:
                bytes.fromhex(self.unavailable_value_placeholder.removeprefix("hex:"))
            except ValueError:
                yield PropertyFinding(
                    "config.impossible_value",
                    "unavailable.value.placeholder",
                    "unavailable.value.placeholder starts with hex: but is not hexadecimal",
                    "Write two hexadecimal digits per byte after hex:.",
                )
