"""Whether server, slot and publication are ready for the log to be read."""

from __future__ import annotations

import psycopg

from headrace.connectors.postgresql.connection import CHECK_LIMIT, connect, translate
from headrace.connectors.postgresql.findings import Checks
from headrace.connectors.postgresql.replication.publication import (
    add_tables,
    misnamed,
    named,
    published_oids,
    unpublished,
)
from headrace.connectors.postgresql.replication.slot import (
    LOST,
    check_slot,
    find_slot,
    system_identifier,
)
from headrace.errors import HeadraceError
from headrace.signals.kafka import check_topic


class LogChecks(Checks):
    """The part that only matters when the log is read."""

    # -- server ---------------------------------------------------------------------------------

    def _server(self) -> None:
        level = self._catalog.setting("wal_level")
        if level == "logical":
            self._add("postgresql.wal_level", "ok", "wal_level is logical")
        else:
            self._add(
                "postgresql.wal_level",
                "error",
                f"wal_level is {level}; logical is needed",
                "Set wal_level = logical and restart the server.",
            )
        standby = self._is_standby()
        if standby and self._catalog.setting("hot_standby_feedback") != "on":
            self._add(
                "postgresql.standby_feedback",
                "warning",
                "hot_standby_feedback is off: the primary may remove rows of the catalogue that "
                "the slot needs, and the slot is lost",
                "Set hot_standby_feedback = on, and give the standby a physical slot.",
            )
        if standby and self._version < 160000:
            self._add(
                "postgresql.standby",
                "error",
                "The server is a standby, which decodes its log since PostgreSQL 16 only",
                "Connect to the primary.",
            )
        kept = self._catalog.setting("max_slot_wal_keep_size")
        if kept == "-1":
            self._add(
                "postgresql.wal_unlimited",
                "warning",
                "max_slot_wal_keep_size is -1: a slot that nobody reads keeps WAL until the disk "
                "is full",
                "Set a limit that covers your longest stop, and watch the slot's lag.",
            )
        elif kept:
            self._add(
                "postgresql.wal_limit",
                "ok",
                f"A slot keeps at most {kept} MB of WAL (max_slot_wal_keep_size); one that falls "
                "further behind is lost",
            )
        timeout = int(self._catalog.setting("wal_sender_timeout") or 0)
        if 0 < timeout < 5000:
            self._add(
                "postgresql.wal_sender_timeout",
                "warning",
                f"wal_sender_timeout is {timeout} ms; a short pause ends the stream",
                "Set it to 10 s or more.",
            )

    def _is_standby(self) -> bool:
        return bool(self._rows("SELECT pg_is_in_recovery()")[0][0])

    @property
    def _version(self) -> int:
        assert self._connection is not None
        return self._connection.info.server_version

    def _replication(self) -> None:
        """Logs in as the stream will: privilege, pg_hba.conf and a free walsender in one."""
        with connect(
            self._config,
            replication=True,
            application="headrace check",
            limit=CHECK_LIMIT,
        ) as connection:
            try:
                system_identifier(connection)
            except psycopg.Error as error:
                doing = "Opening a replication connection"
                raise translate(error, self._config, doing, CHECK_LIMIT) from None
        user = self._config.database_user
        self._add("postgresql.replication", "ok", f"The role {user} may replicate")

    def _channels(self) -> None:
        """Without Kafka the stream starts all the same."""
        if "kafka" not in self._config.signal_enabled_channels:
            return
        topic = self._config.signal_topic()
        try:
            check_topic(self._config)
        except HeadraceError as error:
            if not error.retriable:
                raise
            self._add(error.code, "warning", error.message, error.remedy)
        else:
            self._add("signals.topic", "ok", f"The signal topic {topic} is there")

    # -- slot -----------------------------------------------------------------------------------

    def _slot(self) -> None:
        assert self._connection is not None
        name = self._config.slot_name
        try:
            state = find_slot(self._connection, name)
        except psycopg.Error as error:
            raise translate(error, self._config, "Looking at the slot", CHECK_LIMIT) from None
        if state is None:
            most = int(self._catalog.setting("max_replication_slots") or 0)
            used = int(self._rows("SELECT count(*) FROM pg_replication_slots")[0][0])
            if used >= most:
                self._add(
                    "postgresql.limit_reached",
                    "error",
                    f"The slot {name} cannot be made: {used} of {most} slots are in use",
                    "Raise max_replication_slots, or drop unused slots.",
                )
            else:
                self._add("postgresql.slot", "ok", f"The slot {name} will be made at the start")
            return
        try:
            check_slot(state, self._config)
        except HeadraceError as error:
            if error.code not in LOST or not self._rule.repairs:
                raise
            new = "The start makes it anew and takes a new snapshot."
            self._add(error.code, "warning", error.message, new)
            return
        if state.active_pid is not None:
            self._add(
                "postgresql.slot_in_use",
                "warning",
                f"The slot {name} is active for PID {state.active_pid}",
                "Nothing, if that is this pipeline; otherwise choose another slot.name.",
            )
        elif state.wal_status in ("unreserved", "extended"):
            self._add(
                "postgresql.slot_behind",
                "warning",
                f"The slot {name} is far behind (wal_status={state.wal_status})",
                "Start the pipeline soon, or raise max_slot_wal_keep_size.",
            )
        else:
            self._add("postgresql.slot", "ok", f"The slot {name} is there and free")

    # -- publication ----------------------------------------------------------------------------

    def _publication(self) -> None:
        name = self._config.publication_name
        mode = str(self._config.publication_autocreate_mode)
        rows = self._rows(
            "SELECT puballtables, pubinsert, pubupdate, pubdelete, pubtruncate,"
            " coalesce((to_jsonb(p)->>'pubviaroot')::boolean, false),"
            " pg_has_role(pubowner, 'USAGE') FROM pg_publication p WHERE pubname = %s",
            (name,),
        )
        if not rows:
            self._missing_publication(name, mode)
            return
        for_all, inserts, updates, deletes, truncates, via_root, owned = rows[0]
        if mode == "filtered" and for_all:
            self._add(
                "postgresql.publication_unsuitable",
                "error",
                f"The publication {name} is FOR ALL TABLES, which "
                "publication.autocreate.mode=filtered cannot narrow",
                "Drop it, choose another publication.name, or use all_tables.",
            )
            return
        assert self._connection is not None
        published = published_oids(self._connection, name)
        absent = (
            [] if for_all else unpublished(self._tables, published, self._catalog.partition_roots())
        )
        if absent and mode == "filtered":
            foreign = [t for t in absent if not self._rights[t.oid].owned]
            if not owned or foreign:
                self._add(
                    "postgresql.publication_privilege",
                    "error",
                    f"The role {self._config.database_user} may not add {named(foreign or absent)} "
                    f"to the publication {name}",
                    add_tables(self._connection, name, absent),
                )
            else:
                self._add(
                    "postgresql.publication",
                    "ok",
                    f"{named(absent)} will be added to the publication {name}",
                )
        elif absent:
            self._add(
                "postgresql.not_published",
                "error",
                f"The publication {name} lacks {named(absent)}: their changes never arrive",
                add_tables(self._connection, name, absent),
            )
        else:
            self._add("postgresql.publication", "ok", f"The publication {name} has every table")
        self._partitions(name, published, via_root=via_root)
        operations = {"c": inserts, "u": updates, "d": deletes, "t": truncates}
        words = {"c": "insert", "u": "update", "d": "delete", "t": "truncate"}
        skipped = set(self._config.skipped_operations)
        silent = [words[x] for x, there in operations.items() if not there and x not in skipped]
        if silent:
            self._add(
                "postgresql.operations_not_published",
                "warning",
                f"The publication {name} leaves out {', '.join(silent)}",
                f"ALTER PUBLICATION {self._quoted(name)} SET (publish = 'insert, update, delete, "
                "truncate');",
            )

    def _partitions(self, name: str, published: set[int] | None, *, via_root: bool) -> None:
        """A partition's changes carry its own name, or its root's: one that is not captured
        loses them. `published` None: everything."""
        roots = self._catalog.partition_roots()
        lost = misnamed(self._tables, published, roots, via_root=via_root)
        if via_root:
            said, remedy = "root", "Capture the partitioned table instead of its partitions."
        else:
            said = "partition"
            remedy = (
                f"ALTER PUBLICATION {self._quoted(name)} SET (publish_via_partition_root = true); "
                "or capture the partitions."
            )
            if published is None:
                remedy = "Set publish.via.partition.root=true, or capture the partitions."
        if lost:
            self._add(
                "postgresql.partitions_not_captured",
                "error",
                f"The publication {name} names changes by their {said}, which is not captured: "
                f"{named(lost)}",
                remedy,
            )

    def _missing_publication(self, name: str, mode: str) -> None:
        make = f"As a superuser: CREATE PUBLICATION {self._quoted(name)} FOR TABLE …;"
        if mode == "disabled":
            self._add(
                "postgresql.publication_missing",
                "error",
                f"The publication {name} does not exist, and publication.autocreate.mode is "
                "disabled",
                make,
            )
            return
        if self._is_standby():
            self._add(
                "postgresql.publication_missing",
                "error",
                f"The publication {name} does not exist, and a standby cannot make it",
                "Make it on the primary.",
            )
            return
        creates, superuser = self._rows(
            "SELECT has_database_privilege(current_database(), 'CREATE'), EXISTS (SELECT FROM"
            " pg_roles r WHERE (r.rolsuper OR r.rolname = 'rds_superuser')"
            " AND pg_has_role(r.oid, 'MEMBER'))"
        )[0]
        foreign = [t for t in self._tables if not self._rights[t.oid].owned]
        allowed = creates and (
            superuser or mode == "no_tables" or (mode == "filtered" and not foreign)
        )
        if not allowed:
            self._add(
                "postgresql.publication_privilege",
                "error",
                f"The role {self._config.database_user} may not make the publication {name} "
                f"(publication.autocreate.mode={mode})",
                f"{make} Then set publication.autocreate.mode=disabled.",
            )
        elif mode == "no_tables":
            self._add(
                "postgresql.not_published",
                "error",
                f"The publication {name} will be made without tables: no change arrives until "
                "somebody adds them",
                f"{make} Or choose another publication.autocreate.mode.",
            )
        else:
            self._add(
                "postgresql.publication", "ok", f"The publication {name} will be made at the start"
            )
            self._partitions(name, None, via_root=self._config.publish_via_partition_root)
