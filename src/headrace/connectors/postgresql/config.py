"""The PostgreSQL connector's properties. Names and defaults are Debezium's, but plugin.name."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from typing import ClassVar, Self

from headrace.config.finding import PropertyFinding
from headrace.config.kinds import (
    BOOLEAN,
    JAVA_CLASS,
    PARAMETERS,
    PATH,
    REGEX_LIST,
    SECRET,
    STATEMENTS,
    ValueKind,
    duration,
    integer,
    matching,
    milliseconds,
    one_of,
)
from headrace.config.properties.compatibility import TableIdentityConfig
from headrace.config.properties.execution import TokensConfig
from headrace.config.properties.relational import RelationalConfig
from headrace.config.properties.without_history import WithoutHistoryConfig
from headrace.config.property import (
    Group,
    Property,
    not_needed,
    refused,
)
from headrace.connectors.postgresql.replica_identity_rules import (
    IdentityRule,
    parse_identity_rules,
)

_JAVA = refused("headrace cannot load Java classes")
_NO_FLUSH_WAIT = not_needed("an acknowledgement is a message on the open connection")
_MARK = "session_mark"  # stored among the values, but not a property
_OWN_STREAM_PARAMETERS = ("proto_version", "publication_names", "binary", "streaming", "two_phase")


_IDENTITIES: ValueKind[tuple[IdentityRule, ...]] = ValueKind(
    "schema.table:FULL,schema.table:INDEX name", parse_identity_rules
)


class PostgresConfig(TableIdentityConfig, TokensConfig, WithoutHistoryConfig, RelationalConfig):
    """Debezium's PostgreSQL connector, version 3.x."""

    exclusive: ClassVar[tuple[tuple[str, str], ...]] = (
        *RelationalConfig.exclusive,
        ("message.prefix.include.list", "message.prefix.exclude.list"),
    )
    cloud_event_identity: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "name"),
        ("lsn", "lsn"),
        ("txId", "txId"),
        ("sequence", "sequence"),
    )

    database_hostname = RelationalConfig.database_hostname.with_meaning(
        "Host of the server, or the folder of its Unix socket."
    )
    database_port = RelationalConfig.database_port.with_default("5432")
    database_user = RelationalConfig.database_user.with_meaning(
        "A role with LOGIN and REPLICATION; `headrace check` says what it lacks."
    )
    database_autosave = Property(
        "database.autosave",
        one_of("always", "never", "conservative"),
        None,
        Group.CONNECTION,
        "Savepoints of the Java driver.",
        status=not_needed("it configures the Java driver"),
    )
    driver = RelationalConfig.driver.with_meaning("Connection parameters of libpq, by its names.")
    skip_messages_without_change = RelationalConfig.skip_messages_without_change.with_meaning(
        "Drops updates that change no captured column, under REPLICA IDENTITY FULL."
    )
    database_sslmode = Property(
        "database.sslmode",
        one_of("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
        "prefer",
        Group.CONNECTION,
        "Whether connections are encrypted and the server is verified, as in libpq.",
    )
    database_sslcert = Property(
        "database.sslcert", PATH, None, Group.CONNECTION, "File of the client certificate (PEM)."
    )
    database_sslkey = Property(
        "database.sslkey", PATH, None, Group.CONNECTION, "File of the client's private key."
    )
    database_sslpassword = Property(
        "database.sslpassword", SECRET, None, Group.CONNECTION, "Password of the private key."
    )
    database_sslrootcert = Property(
        "database.sslrootcert",
        PATH,
        None,
        Group.CONNECTION,
        "File of the certificates that sign the server's.",
    )
    database_sslfactory = Property(
        "database.sslfactory",
        JAVA_CLASS,
        None,
        Group.CONNECTION,
        "Socket factory class.",
        status=_JAVA,
    )
    database_tcpKeepAlive = Property(
        "database.tcpKeepAlive",
        BOOLEAN,
        "true",
        Group.CONNECTION,
        "Whether idle connections are probed: a connection that was cut silently fails after "
        "about two minutes.",
    )
    database_initial_statements = Property(
        "database.initial.statements",
        STATEMENTS,
        "",
        Group.CONNECTION,
        "SQL to run on each connection that is not a replication connection.",
    )
    headrace_slot_watch_interval = Property(
        "headrace.slot.watch.interval",
        duration(),
        "10 s",
        Group.HEADRACE,
        "How often the state of the replication slot is read, for the metrics and for a warning "
        "before the slot is lost; 0 is never.",
    )
    plugin_name = Property(
        "plugin.name",
        one_of("pgoutput", "decoderbufs", "wal2json"),
        "pgoutput",
        Group.REPLICATION,
        "The server's logical decoding plug-in.",
        status=refused("pgoutput is part of every PostgreSQL server"),
    )
    slot_name = Property(
        "slot.name",
        matching(r"[a-z0-9_]{1,63}", "1 to 63 of a-z, 0-9 and _"),
        "debezium",
        Group.REPLICATION,
        "The replication slot; created if absent.",
    )
    slot_drop_on_stop = Property(
        "slot.drop.on.stop",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Drops the slot at an orderly stop. The changes until the next start are lost, so that "
        "start needs snapshot.mode=when_needed or a new checkpoint.",
        formerly=("slot.drop_on_stop",),
    )
    slot_failover = Property(
        "slot.failover",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Creates the slot for failover to a standby (PostgreSQL 17 and later, on a primary).",
    )
    slot_stream_params = Property(
        "slot.stream.params",
        PARAMETERS,
        "",
        Group.REPLICATION,
        "Further options of START_REPLICATION, such as origin=none.",
    )
    slot_max_retries = Property(
        "slot.max.retries",
        integer(0),
        "6",
        Group.REPLICATION,
        "Attempts to take a slot that is in use.",
    )
    slot_retry_delay_ms = Property(
        "slot.retry.delay.ms",
        milliseconds(),
        "10000",
        Group.REPLICATION,
        "Pause between attempts to take a slot that is in use.",
    )
    internal_create_slot_command_timeout = Property(
        "internal.create.slot.command.timeout",
        duration(bare_unit="s"),
        "90 s",
        Group.REPLICATION,
        "Limit for creating slot and publication.",
    )
    publication_name = Property(
        "publication.name",
        matching(r".{1,63}", "1 to 63 characters"),
        "dbz_publication",
        Group.REPLICATION,
        "The publication.",
    )
    publication_autocreate_mode = Property(
        "publication.autocreate.mode",
        one_of("all_tables", "filtered", "no_tables", "disabled"),
        "all_tables",
        Group.REPLICATION,
        "Which publication is created if it does not exist.",
    )
    publish_via_partition_root = Property(
        "publish.via.partition.root",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Creates the publication so that rows of partitions carry the root table's name.",
    )
    replica_identity_autoset_values = Property(
        "replica.identity.autoset.values",
        _IDENTITIES,
        "",
        Group.REPLICATION,
        "Replica identities to set at start: `schema.table:FULL,…` (DEFAULT, FULL, NOTHING, "
        "`INDEX name`).",
    )
    offset_mismatch_strategy = Property(
        "offset.mismatch.strategy",
        one_of("no_validation", "trust_offset", "trust_slot", "trust_greater_lsn"),
        "no_validation",
        Group.REPLICATION,
        "Which position is used when offset and slot differ. A slot that lags behind is advanced "
        "to the offset by trust_offset and trust_greater_lsn. A slot that is ahead is an error, "
        "except with trust_slot and trust_greater_lsn: then the changes between are left out, "
        "with a warning and a new epoch in `sequence`.",
    )
    internal_slot_seek_to_known_offset_on_start = Property(
        "internal.slot.seek.to.known.offset.on.start",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Former spelling of offset.mismatch.strategy=trust_offset.",
    )
    lsn_flush_mode = Property(
        "lsn.flush.mode",
        one_of("connector", "manual", "connector_and_driver"),
        "connector",
        Group.REPLICATION,
        "How positions are confirmed to the server. `manual`: not at all; move the slot yourself "
        "while the query is stopped. In the other two modes positions move on idle tables.",
    )
    flush_lsn_source = Property(
        "flush.lsn.source",
        BOOLEAN,
        "true",
        Group.REPLICATION,
        "Former spelling of lsn.flush.mode: `false` is manual.",
    )
    lsn_flush_timeout_ms = Property(
        "lsn.flush.timeout.ms",
        milliseconds(),
        "30000",
        Group.REPLICATION,
        "Limit for one acknowledgement.",
        status=_NO_FLUSH_WAIT,
    )
    lsn_flush_timeout_action = Property(
        "lsn.flush.timeout.action",
        one_of("fail", "warn", "ignore"),
        "fail",
        Group.REPLICATION,
        "What to do after lsn.flush.timeout.ms.",
        status=_NO_FLUSH_WAIT,
    )
    status_update_interval_ms = Property(
        "status.update.interval.ms",
        milliseconds(1),
        "10000",
        Group.REPLICATION,
        "Longest interval of status messages to the server.",
    )
    xmin_fetch_interval_ms = Property(
        "xmin.fetch.interval.ms",
        milliseconds(),
        "0",
        Group.REPLICATION,
        "Interval of reading the slot's xmin for `source.xmin`; 0 is never.",
    )
    schema_refresh_mode = Property(
        "schema.refresh.mode",
        one_of("columns_diff", "columns_diff_exclude_unchanged_toast"),
        "columns_diff",
        Group.REPLICATION,
        "When a table's schema is read again.",
        status=not_needed("pgoutput reports every schema change"),
    )
    message_prefix_include_list = Property(
        "message.prefix.include.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for prefixes of logical messages; if it is empty, every message.",
    )
    message_prefix_exclude_list = Property(
        "message.prefix.exclude.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for prefixes of logical messages that are left out.",
    )
    include_unknown_datatypes = Property(
        "include.unknown.datatypes",
        BOOLEAN,
        "false",
        Group.CAPTURED,
        "Columns of unknown types as bytes, instead of leaving them out.",
    )
    include_schema_changes = Property(
        "include.schema.changes",
        BOOLEAN,
        "false",
        Group.CAPTURED,
        "Schema changes as records.",
        status=not_needed("PostgreSQL's log holds no DDL"),
    )
    hstore_handling_mode = Property(
        "hstore.handling.mode",
        one_of("json", "map"),
        "json",
        Group.VALUES,
        "Representation of hstore columns.",
    )
    money_fraction_digits = Property(
        "money.fraction.digits",
        integer(0, 1000),
        "2",
        Group.VALUES,
        "Scale of money columns.",
    )
    snapshot_isolation_mode = Property(
        "snapshot.isolation.mode",
        one_of("serializable", "repeatable_read", "read_committed", "read_uncommitted"),
        "serializable",
        Group.SNAPSHOT,
        "Isolation of a snapshot, except the one that a new slot exports. All tables are read as "
        "of one moment in any case, so the last three are the same.",
    )
    snapshot_locking_mode = RelationalConfig.snapshot_locking_mode.with_default("none")
    snapshot_lock_timeout_ms = Property(
        "snapshot.lock.timeout.ms",
        milliseconds(1),
        "10000",
        Group.SNAPSHOT,
        "Limit of every wait for a lock on a table, in every snapshot.locking.mode; after the "
        "limit a warning is logged, and the statement is tried again. With "
        "snapshot.locking.mode=shared also how long another session waits for the snapshot's "
        "locks until they are released. 0 is not allowed.",
    )
    snapshot_fetch_size = Property(
        "snapshot.fetch.size",
        integer(1),
        "10240",
        Group.SNAPSHOT,
        "Rows per fetch.",
        status=not_needed("COPY streams the rows"),
    )

    @property
    def mark(self) -> str:
        """The suffix of the application names of a run's sessions; empty outside of a run."""
        return str(self._values.get(_MARK, ""))

    def marked(self) -> Self:
        """Return the configuration with a new mark, which identifies the sessions of one run, also
        those that tasks open in other processes."""
        values = {**self._values, _MARK: secrets.token_hex(4)}
        return type(self)(values, self._shown, self.warnings, self._texts, self.hidden)

    def acknowledges(self) -> bool:
        """Whether acknowledged positions are reported to the server."""
        if self.is_set("lsn.flush.mode"):
            return self.lsn_flush_mode != "manual"
        return self.flush_lsn_source

    def mismatch_strategy(self) -> str:
        """offset.mismatch.strategy, or the strategy that its former name sets."""
        former = self.internal_slot_seek_to_known_offset_on_start
        if former and not self.is_set("offset.mismatch.strategy"):
            return "trust_offset"
        return self.offset_mismatch_strategy

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        for name, _ in self.slot_stream_params:
            if re.fullmatch(r"[a-z_]{1,63}", name) is None or name in _OWN_STREAM_PARAMETERS:
                yield PropertyFinding(
                    "config.impossible_value",
                    "slot.stream.params",
                    f"slot.stream.params: {name!r} cannot be set",
                    "Remove it; headrace sets the stream's format and publication.",
                )
