"""Preconditions of a connector, each missing once: the codes of `check` and of a start for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace_demo.oracle.database import PRIVILEGES
from tests.servers.db2 import SCHEMA as DB2_SCHEMA
from tests.servers.db2 import Db2Database
from tests.servers.mongodb import MongoDatabase
from tests.servers.oracle import SCHEMA, OracleDatabase
from tests.servers.postgresql import Database

RESELECT = {
    "post.processors": "again",
    "again.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
}
FEW = {"guardrail.collections.max": "1", "guardrail.collections.limit.action": "fail"}
MADE = {"publication.autocreate.mode": "filtered"}
KAFKA_HISTORY = {
    "schema.history.internal": "kafka",
    "schema.history.internal.kafka.topic": "history",
    "schema.history.internal.kafka.bootstrap.servers": "127.0.0.1:1",
    "schema.history.internal.kafka.recovery.attempts": "1",
}
BAD_CHANNEL = {
    "signal.enabled.channels": "kafka",
    "signal.kafka.bootstrap.servers": "127.0.0.1:1",
    "signal.consumer.security.protocol": "no such",
}
AVRO = {"value.converter": "avro", "value.converter.schema.registry.url": "http://127.0.0.1:9"}
# How long what is not there is waited for, and asked again.
SOON_ASKED = {"headrace.kafka.registry._FIRST_WAIT_MS": 1}
SOON_GIVEN_UP = {"headrace.kafka.topics.ANSWER_SECONDS": 0.5}


def _nothing(_database: Any) -> None:
    """Breaks nothing: the configuration is wrong."""


@dataclass(frozen=True)
class Case:
    """`code` is what both say where `given` is added to a sound configuration, in which NAME means
    the database's name, and `broken` has changed the database. `patched` are constants that
    take the place of a server of another version, or shorten a wait.

    `meets`: the start meets it by itself, and refuses or warns; else it asks what `check` asks, and
    refuses before anything is opened. `level` is the one that `check` has for it.
    """

    code: str
    given: Mapping[str, str] = field(default_factory=dict)
    broken: Callable[[Any], object] = _nothing
    patched: Mapping[str, object] = field(default_factory=dict)
    meets: bool = False
    level: str = "error"

    def __str__(self) -> str:
        return f"{self.code}-{'-'.join(self.given.values())[:30]}"

    def properties(self, sound: Mapping[str, str], name: str) -> dict[str, str]:
        more = self.given.items()
        # A connection string without options names no replica set.
        bare = sound.get("mongodb.connection.string", "").partition("?")[0]
        return {
            **sound,
            **{
                key.replace("NAME", name): text.replace("NAME", name).replace("URI", bare)
                for key, text in more
            },
        }


def sql(*statements: str) -> Callable[[Database], None]:
    """Runs statements, in which NAME means the database's name."""

    def run(database: Database) -> None:
        for statement in statements:
            database.execute(statement.replace("NAME", database.name))

    return run


ROLE = "CREATE ROLE role_NAME LOGIN REPLICATION"
AS_ROLE = {"database.user": "role_NAME"}
GRANTED = "GRANT SELECT ON t TO role_NAME"
PARTITIONED = (
    "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
    "ALTER PUBLICATION NAME ADD TABLE p",
)
TWINS = (
    'CREATE TABLE "a b" (id int PRIMARY KEY)',
    'CREATE TABLE "a_b" (id int PRIMARY KEY)',
    'ALTER PUBLICATION NAME ADD TABLE "a b", "a_b"',
)
OVERRIDE = "snapshot.select.statement.overrides"
_PG = "headrace.connectors.postgresql.checks."

POSTGRESQL = [
    Case("postgresql.unreachable", {"database.port": "1"}),
    Case("postgresql.unknown_database", {"database.dbname": "nowhere"}),
    Case("postgresql.authentication", {"database.user": "nobody_known"}),
    Case("postgresql.tls", {"database.sslmode": "require"}),
    Case("postgresql.version", patched={f"{_PG}database.OLDEST": 990000}),
    Case("postgresql.no_tables", {"table.include.list": "public.nothing"}),
    Case(
        "postgresql.no_tables",
        {"table.include.list": "", "schema.include.list": "empty", **MADE},
        sql("CREATE SCHEMA empty", "DROP PUBLICATION NAME"),
        meets=True,
    ),
    Case("postgresql.no_tables", {"table.include.list": "", "schema.include.list": "none"},
         level="warning", meets=True),
    Case("postgresql.too_many_tables", FEW, sql("CREATE TABLE u (id int PRIMARY KEY)",
         "ALTER PUBLICATION NAME ADD TABLE u")),
    Case("postgresql.too_many_tables", {**FEW, "guardrail.collections.limit.action": "warn"},
         sql("CREATE TABLE u (id int PRIMARY KEY)", "ALTER PUBLICATION NAME ADD TABLE u"),
         level="warning"),
    Case("postgresql.shared_name", broken=sql(*TWINS), level="warning"),
    Case("postgresql.override_missing", {OVERRIDE: "public.t"}, level="warning"),
    Case("debezium.key_column_missing", {"message.key.columns": "public.t:nothing"},
         level="warning"),
    Case("debezium.case_twins", broken=sql('ALTER TABLE t ADD "NOTE" text, ADD odd tsquery')),
    Case("postgresql.no_privilege", AS_ROLE, sql(ROLE)),
    Case(
        "postgresql.no_privilege",
        {"table.include.list": "shut.t", **AS_ROLE},
        sql(ROLE, "CREATE SCHEMA shut", "ALTER TABLE t SET SCHEMA shut",
            "GRANT SELECT ON shut.t TO role_NAME"),
    ),
    Case("postgresql.no_replication_privilege", AS_ROLE,
         sql(ROLE, GRANTED, "ALTER ROLE role_NAME NOREPLICATION")),
    Case("postgresql.override", {OVERRIDE: "public.t", f"{OVERRIDE}.public.t": "SELECT x"}),
    Case("postgresql.signal_table", {"signal.data.collection": "public.nothing"}),
    Case("postgresql.heartbeat_table", {"heartbeat.action.query": "UPDATE nothing SET id = 1"}),
    Case("postgresql.heartbeat_query", {"heartbeat.action.query": "UPDAT t SET id = 1"},
         level="warning"),
    Case("postgresql.reselect_columns", {**RESELECT,
         "again.reselect.columns.include.list": r"public\.t:nte"}, level="warning"),
    Case("postgresql.slot_unsuitable",
         broken=sql("SELECT pg_create_physical_replication_slot('NAME')")),
    Case("postgresql.publication_missing", {"publication.name": "nothing"}),
    Case("postgresql.publication_unsuitable", MADE,
         sql("DROP PUBLICATION NAME", "CREATE PUBLICATION NAME FOR ALL TABLES")),
    Case("postgresql.publication_privilege", {**AS_ROLE, **MADE},
         sql(ROLE, GRANTED, "DROP PUBLICATION NAME"), meets=True),
    Case("postgresql.publication_privilege", {**AS_ROLE, **MADE},
         sql(ROLE, GRANTED, "CREATE TABLE u (id int PRIMARY KEY)",
             "GRANT SELECT ON u TO role_NAME", "ALTER PUBLICATION NAME SET TABLE u"), meets=True),
    Case("postgresql.not_published", broken=sql("CREATE TABLE u (id int PRIMARY KEY)")),
    Case("postgresql.not_published", {"table.include.list": "", "schema.include.list": "public"},
         sql("CREATE TABLE u (id int PRIMARY KEY)"), meets=True),
    Case("postgresql.not_published", {"publication.autocreate.mode": "no_tables"},
         sql("DROP PUBLICATION NAME"), meets=True),
    Case("postgresql.partitions_not_captured", {"table.include.list": "public.t,public.p"},
         sql(*PARTITIONED), meets=True),
    Case("postgresql.partitions_not_captured", {"table.include.list": "public.t,public.p1"},
         sql(*PARTITIONED, "ALTER PUBLICATION NAME SET (publish_via_partition_root = true)"),
         meets=True),
    Case("signals.kafka_setting", BAD_CHANNEL),
    Case("registry.unreachable", AVRO, patched=SOON_ASKED),
]  # fmt: skip

OF_MONGODB = "headrace.connectors.mongodb.checks.collections."
FILTERS = "snapshot.collection.filter.overrides"
ANOTHER = {"capture.scope": "database", "capture.target": "NAME"}


def _two(database: MongoDatabase) -> None:
    database.collections["u"].insert_one({"_id": 1})


def _bare_view(database: MongoDatabase) -> None:
    pipeline = [{"$project": {"_id": 0}}]
    database.collections["t"].insert_one({"text": "x"})
    database.collections.create_collection("bare", viewOn="t", pipeline=pipeline)


MONGODB = [
    Case("mongodb.unreachable", {
        "mongodb.connection.string": "mongodb://127.0.0.1:1/?replicaSet=rs0",
        "mongodb.server.selection.timeout.ms": "300"},
        patched={"headrace.connectors.mongodb.connection._PROBE_MS": 300}),
    Case("mongodb.replica_set_name", {"mongodb.connection.string": "URI"}),
    Case("mongodb.too_many_collections", FEW, _two),
    Case("mongodb.filter", {FILTERS: "NAME.t", f"{FILTERS}.NAME.t": "{total: {$foo: 1}}"}),
    Case("mongodb.no_id", broken=_bare_view, meets=True),
    Case("mongodb.no_images", {"capture.mode": "change_streams_with_pre_image"},
         patched={f"{OF_MONGODB}IMAGES": (99, 0)}),
    Case("mongodb.unknown_stage", {"cursor.oversize.handling.mode": "split"}),
    Case("mongodb.bad_expression", {"collection.include.list": r"shop\.\p{Alpha}+"}),
    Case("mongodb.signal_scope", {"signal.data.collection": "elsewhere.signals", **ANOTHER}),
    Case("signals.kafka_setting", BAD_CHANNEL),
    Case("registry.unreachable", AVRO, patched=SOON_ASKED),
]  # fmt: skip


def _changed(**state: Any) -> Callable[[OracleDatabase], None]:
    return lambda database: database.change(**state)


def _unlogged(database: OracleDatabase) -> None:
    database.create_table("U", "ID NUMBER(9,0) NOT NULL", key=["ID"], supplemental=None)


def _long_name(database: OracleDatabase) -> None:
    database.create_table("LONG", "ID NUMBER(9,0) NOT NULL", f"{'A' * 31} NUMBER", key=["ID"])


def _direct_loads(database: OracleDatabase) -> None:
    database.server.call("change_table", f"{SCHEMA}.THINGS", logging="NO")
    database.change(force_logging="NO")


def _refuses_to_mine(database: OracleDatabase) -> None:
    database.server.apply([{"error": 1336, "when": "START_LOGMNR", "times": 100}])


def _old_transaction(database: OracleDatabase) -> None:
    database.server.begin().insert(f"{SCHEMA}.THINGS", ID=1)
    database.server.apply([{"switch": 1}] * 4 + [{"delete_logs": [1, 2]}])


ORACLE = [
    Case("oracle.unknown_database", {"database.pdb.name": "NOWHERE"}),
    Case("oracle.connection_lost", {"database.port": "1"}),
    Case("oracle.no_archive_log_mode", broken=_changed(log_mode="NOARCHIVELOG")),
    Case("oracle.no_supplemental_logging", broken=_changed(supplemental="NO")),
    Case("oracle.no_privilege", broken=_changed(hidden_views={"V$LOGFILE"})),
    Case("oracle.no_archive_destination", {"archive.destination.name": "LOG_ARCHIVE_DEST_7"}),
    Case("oracle.arrow_fetch", patched={
        "headrace_demo.oracle.driver.OracleConnection.fetch_df_batches": None}),
    Case("oracle.no_dictionary_file", {"log.mining.strategy": "dictionary_from_file",
         "log.mining.path.dictionary": "/dictionary.ora"}, _refuses_to_mine, meets=True),
    Case("oracle.no_table_logging", broken=_unlogged, meets=True),
    Case("oracle.no_pluggable_database", {"database.pdb.name": ""}, meets=True),
    Case("oracle.nologging", broken=_direct_loads, meets=True, level="warning"),
    Case("oracle.override_missing", {OVERRIDE: f"{SCHEMA}.THINGS"}, level="warning"),
    Case("oracle.long_name", broken=_long_name, level="warning"),
    Case("oracle.no_flush_table", broken=_changed(
        privileges=[privilege for privilege in PRIVILEGES if privilege != "CREATE TABLE"])),
    Case("oracle.no_quota", broken=_changed(quota=None)),
    Case("oracle.no_tables", {"table.include.list": "NOBODY.*"}),
    Case("oracle.too_many_tables", FEW, _unlogged),
    Case("oracle.signal_table", {"signal.data.collection": f"ORCLPDB1.{SCHEMA}.NOTHING"}),
    Case("oracle.heartbeat_table", {
        "heartbeat.action.query": f"INSERT INTO {SCHEMA}.NOTHING (ID) VALUES (7)"}),
    Case("oracle.heartbeat_query", {"heartbeat.action.query": "UPDATE nothing"}, level="warning"),
    Case("oracle.reselect_columns", {**RESELECT,
         "again.reselect.columns.include.list": rf"{SCHEMA}\.THINGS:NTE"}, level="warning"),
    Case("relational.kafka_unreachable", KAFKA_HISTORY, patched=SOON_GIVEN_UP),
    Case("registry.unreachable", AVRO, patched=SOON_ASKED),
]  # fmt: skip
ORACLE_RESTARTS = [Case("oracle.log_retention", broken=_old_transaction)]


def _two_tables(*, captured: bool) -> Callable[[Db2Database], None]:
    keyed = "ID INTEGER NOT NULL PRIMARY KEY"
    return lambda database: database.create_table("U", keyed, captured=captured)


def _db2(*statements: str, stops: bool = False) -> Callable[[Db2Database], None]:
    def run(database: Db2Database) -> None:
        if stops:
            database.capture.stop()
        else:
            database.capture.stop_capturing("CDC_INV_T")
        for statement in statements:
            database.execute(statement)

    return run


_ASIDE = "UPDATE ASNCDC.IBMSNAP_REGISTER SET "
DB2 = [
    Case("db2.unknown_database", {"database.dbname": "NODB"}),
    Case("db2.no_control_tables", {"cdc.control.schema": "NOWHERE"}),
    Case("db2.no_tables", {"table.include.list": r"INV\.NOTHING"}),
    Case("db2.too_many_tables", FEW, _two_tables(captured=True)),
    Case("db2.override_missing", {OVERRIDE: f"{DB2_SCHEMA}.T"}, level="warning"),
    Case("db2.not_registered", {"table.include.list": r"INV\.U"}, _two_tables(captured=False)),
    Case("db2.not_registered", {"table.include.list": r"INV\.[TU]"}, _two_tables(captured=False),
         meets=True),
    Case("db2.registration_inactive",
         broken=lambda database: database.capture.set_state("CDC_INV_T", "S"), meets=True),
    Case("db2.capture_stopped", broken=_db2(
        f"{_ASIDE}SYNCHTIME = TIMESTAMP('2020-01-02 03:04:05') WHERE GLOBAL_RECORD = 'Y'",
        stops=True), meets=True),
    Case("db2.capture_never_ran", broken=_db2(
        f"{_ASIDE}SYNCHPOINT = NULL WHERE GLOBAL_RECORD = 'Y'", stops=True), meets=True),
    Case("db2.no_change_table", broken=_db2("DROP TABLE ASNCDC.CDC_INV_T")),
    Case("db2.change_table_altered", broken=_db2(
        "RENAME COLUMN ASNCDC.CDC_INV_T.IBMSNAP_INTENTSEQ TO ELSE_")),
    Case("db2.change_table_altered", broken=_db2("RENAME COLUMN ASNCDC.CDC_INV_T.ID TO ELSE_")),
    Case("db2.signal_table", {"signal.data.collection": f"{DB2_SCHEMA}.NOTHING"}),
    Case("db2.reselect_columns", {**RESELECT,
         "again.reselect.columns.include.list": rf"{DB2_SCHEMA}\.T:NOTHING"}, level="warning"),
    Case("relational.kafka_unreachable", KAFKA_HISTORY, patched=SOON_GIVEN_UP),
    Case("registry.unreachable", AVRO, patched=SOON_ASKED),
]  # fmt: skip
