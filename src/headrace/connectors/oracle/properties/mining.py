"""Properties of mining: logs, sessions, windows, and the rows that the query leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.config.configuration import Configuration
from headrace.config.finding import PropertyFinding
from headrace.config.kinds import (
    BOOLEAN,
    COMMA_LIST,
    LONG_MAX,
    TEXT,
    choice,
    integer,
    matching,
    milliseconds,
)
from headrace.config.property import Group, Property, not_needed
from headrace.connectors.oracle.properties.connection import stored_name
from headrace.connectors.oracle.properties.modes import MiningStrategy, QueryFilterMode

_NAME = re.compile(r"(?:[\w$#. ]|\\[.$#])+")
_BEYOND_ORACLE = re.compile(r"\(\?|\\[bBAZzGQEpP]|[*+?}]\+")
"""Parts of Java's regular expressions that Oracle's do not have."""
_LONGEST_EXPRESSION = 512 - len("^()$")
"""The most bytes that REGEXP_LIKE takes."""
_LISTS = ("table.include.list", "table.exclude.list", "schema.include.list", "schema.exclude.list")


def plain_name(expression: str) -> str | None:
    """Return the only name that an entry of a list stands for (a dot, escaped or not, is a dot);
    None: it is an expression."""
    is_plain = _NAME.fullmatch(expression) is not None
    return re.sub(r"\\(.)", r"\1", expression) if is_plain else None


def _fits(mode: QueryFilterMode, entry: str) -> bool:
    if mode is QueryFilterMode.IN:
        return plain_name(entry) is not None
    is_short = len(entry.encode()) <= _LONGEST_EXPRESSION
    return is_short and _BEYOND_ORACLE.search(entry) is None


_BY_LOGS = not_needed(
    "a window reads what the logs of its session contain (log.mining.log.count.min)"
)


class MiningConfig(Configuration):
    """Properties of LogMiner's sessions and of the windows in which they are read."""

    log_mining_strategy = Property(
        "log.mining.strategy",
        choice(MiningStrategy),
        "online_catalog",
        Group.REPLICATION,
        "Where LogMiner takes names from: the database's own dictionary (`online_catalog`; `hybrid`"
        " also reads rows that were written before a table's columns changed), the redo "
        "(`redo_log_catalog`, which Debezium deprecates: the dictionary is written to the redo "
        "with each log switch) or a file (`dictionary_from_file`).",
    )
    log_mining_path_dictionary = Property(
        "log.mining.path.dictionary",
        TEXT,
        None,
        Group.REPLICATION,
        "The dictionary's file on the server (dictionary_from_file).",
    )
    log_mining_query_filter_mode = Property(
        "log.mining.query.filter.mode",
        choice(QueryFilterMode),
        "none",
        Group.REPLICATION,
        "How the database applies schema.*.list and table.*.list: not at all, as names (`in`: the "
        "lists have no expressions), or as regular expressions (`regex`).",
    )
    log_mining_log_count_min = Property(
        "log.mining.log.count.min",
        integer(0),
        "2",
        Group.REPLICATION,
        "The least amount of redo of each thread in a session, in logs of the largest log's size; "
        "0: all logs. A transaction that began earlier adds the logs since its start.",
    )
    log_mining_session_max_ms = Property(
        "log.mining.session.max.ms",
        milliseconds(),
        "0",
        Group.REPLICATION,
        "How long a session lasts until a new one is started; 0: until its logs change.",
    )
    log_mining_window_max_ms = Property(
        "log.mining.window.max.ms",
        milliseconds(),
        "0",
        Group.REPLICATION,
        "If a transaction is open for longer than this, sessions no longer begin at its start; "
        "its changes that were already read are kept. 0: sessions always begin at the oldest open "
        "transaction.",
    )
    log_mining_restart_connection = Property(
        "log.mining.restart.connection",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Reconnects for each session, so that the server frees its memory (PGA).",
    )
    log_mining_archive_log_only_mode = Property(
        "log.mining.archive.log.only.mode",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Reads archived logs only: changes come when their log is archived.",
    )
    log_mining_archive_log_only_scn_poll_interval_ms = Property(
        "log.mining.archive.log.only.scn.poll.interval.ms",
        milliseconds(1),
        "10000",
        Group.REPLICATION,
        "Pause before headrace looks for another archived log.",
    )
    archive_log_hours = Property(
        "archive.log.hours",
        integer(0),
        "0",
        Group.REPLICATION,
        "Archived logs that began longer ago are ignored; 0 is no limit.",
        formerly=("log.mining.archive.log.hours",),
    )
    archive_destination_name = Property(
        "archive.destination.name",
        COMMA_LIST,
        "",
        Group.REPLICATION,
        "Destinations of archived logs (LOG_ARCHIVE_DEST_n), of which the first valid one is "
        "used; by default the first valid local one.",
    )
    log_mining_flush_table_name = Property(
        "log.mining.flush.table.name",
        matching(r"[A-Za-z][A-Za-z0-9_$#]*", "the name of a table"),
        "LOG_MINING_FLUSH",
        Group.REPLICATION,
        "The connector's own table with one row: an update of it makes the server write the redo "
        "to its log.",
    )
    log_mining_read_only = Property(
        "log.mining.read.only",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Never writes the flush table: changes then come when the server flushes its redo.",
    )
    internal_log_mining_read_only = Property(
        "internal.log.mining.read.only",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "The former name of log.mining.read.only.",
    )
    log_mining_include_redo_sql = Property(
        "log.mining.include.redo.sql",
        BOOLEAN,
        "false",
        Group.VALUES,
        "Events contain the statement of their change (`source.redo_sql`).",
    )
    log_mining_username_include_list = Property(
        "log.mining.username.include.list",
        COMMA_LIST,
        "",
        Group.CAPTURED,
        "Users whose changes are captured; if it is empty, those of all users.",
    )
    log_mining_username_exclude_list = Property(
        "log.mining.username.exclude.list",
        COMMA_LIST,
        "",
        Group.CAPTURED,
        "Users whose changes are not captured.",
    )
    log_mining_clientid_include_list = Property(
        "log.mining.clientid.include.list",
        COMMA_LIST,
        "",
        Group.CAPTURED,
        "Client identifiers whose changes are captured; if it is empty, all.",
    )
    log_mining_clientid_exclude_list = Property(
        "log.mining.clientid.exclude.list",
        COMMA_LIST,
        "",
        Group.CAPTURED,
        "Client identifiers whose changes are not captured.",
    )
    log_mining_schema_changes_username_exclude_list = Property(
        "log.mining.schema_changes.username.exclude.list",
        COMMA_LIST,
        "SYS,SYSTEM",
        Group.CAPTURED,
        "Users whose statements that change tables are ignored.",
    )
    poll_interval_ms = Property(
        "poll.interval.ms",
        milliseconds(1),
        "500",
        Group.RUNTIME,
        "Pause before headrace looks for redo again, if there was none after the redo that was "
        "read.",
    )
    query_fetch_size = Property(
        "query.fetch.size",
        integer(0),
        "10000",
        Group.RUNTIME,
        "Rows of redo that are fetched from the driver at once; 0 leaves it to headrace.",
    )
    log_mining_max_scn_deviation_ms = Property(
        "log.mining.max.scn.deviation.ms",
        milliseconds(),
        "0",
        Group.REPLICATION,
        "A window ends this long before the newest redo.",
    )
    log_mining_batch_size_default = Property(
        "log.mining.batch.size.default",
        integer(0, LONG_MAX),
        "20000",
        Group.REPLICATION,
        "SCNs of a window.",
        status=_BY_LOGS,
    )
    log_mining_batch_size_min = Property(
        "log.mining.batch.size.min",
        integer(0, LONG_MAX),
        "1000",
        Group.REPLICATION,
        "Fewest SCNs of a window.",
        status=_BY_LOGS,
    )
    log_mining_batch_size_max = Property(
        "log.mining.batch.size.max",
        integer(0, LONG_MAX),
        "100000",
        Group.REPLICATION,
        "Most SCNs of a window.",
        status=_BY_LOGS,
    )
    log_mining_batch_size_increment = Property(
        "log.mining.batch.size.increment",
        integer(0, LONG_MAX),
        "20000",
        Group.REPLICATION,
        "SCNs by which windows grow.",
        status=_BY_LOGS,
    )

    @property
    def user_lists(self) -> tuple[list[str], list[str]]:
        """The users whose changes are captured (empty: those of all users), and the users whose
        changes are not. The connector's own user is captured: it writes the watermarks of
        incremental snapshots."""
        connector_user = stored_name(self.value_of("database_user"))
        included = list(self.log_mining_username_include_list)
        excluded = [
            user
            for user in self.log_mining_username_exclude_list
            if user.upper() != connector_user.upper()
        ]
        return [*included, connector_user] if included else [], excluded

    log_mining_log_count_growth_max = Property(
        "log.mining.log.count.growth.max",
        integer(0),
        "4",
        Group.REPLICATION,
        "The largest number of logs of each redo thread by which sessions grow.",
        status=not_needed("sessions include the logs of the oldest open transaction"),
    )
    log_mining_continuous_mine = Property(
        "log.mining.continuous.mine",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Lets LogMiner find the logs, up to Oracle 18c.",
        status=not_needed("Oracle 19c has no CONTINUOUS_MINE; headrace finds the logs"),
    )
    log_mining_include_internal_events = Property(
        "log.mining.include.internal.events",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Reads rows of the operation INTERNAL, which may identify the row of a rollback.",
        status=not_needed("headrace recognises a rollback by the row that it rolls back"),
    )

    @property
    def writes_flush_table(self) -> bool:
        """Whether redo is flushed: not if the connector only reads, nor if only archived logs are
        read."""
        reads_only = self.log_mining_read_only or self.internal_log_mining_read_only
        return not (reads_only or self.log_mining_archive_log_only_mode)

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        mode = self.log_mining_query_filter_mode
        if mode is QueryFilterMode.NONE:
            return
        for name in _LISTS:
            entries = self.value_of(name.replace(".", "_"))
            wrong = next((entry for entry in entries if not _fits(mode, str(entry))), None)
            if wrong is not None:
                takes = "only names" if mode is QueryFilterMode.IN else "expressions of REGEXP_LIKE"
                yield PropertyFinding(
                    "config.impossible_value",
                    "log.mining.query.filter.mode",
                    f"log.mining.query.filter.mode = {mode} accepts {takes}, and {name} has "
                    f"{wrong!r}",
                    "Write names, or remove log.mining.query.filter.mode: then headrace filters.",
                )

    log_mining_sleep_time_default_ms = Property(
        "log.mining.sleep.time.default.ms",
        milliseconds(),
        "1000",
        Group.REPLICATION,
        "First pause after a window that read the newest redo; if there is more redo, the next "
        "window follows at once.",
    )
    log_mining_sleep_time_min_ms = Property(
        "log.mining.sleep.time.min.ms",
        milliseconds(),
        "0",
        Group.REPLICATION,
        "Shortest pause between windows.",
    )
    log_mining_sleep_time_max_ms = Property(
        "log.mining.sleep.time.max.ms",
        milliseconds(),
        "3000",
        Group.REPLICATION,
        "Longest pause between windows.",
    )
    log_mining_sleep_time_increment_ms = Property(
        "log.mining.sleep.time.increment.ms",
        milliseconds(),
        "200",
        Group.REPLICATION,
        "The increase of the pause after each window without changes.",
    )
    internal_log_mining_use_cte_query = Property(
        "internal.log.mining.use.cte.query",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Filters LogMiner's rows by transactions first.",
        status=not_needed("headrace assembles transactions"),
    )
    internal_log_mining_redo_thread_scn_adjustment = Property(
        "internal.log.mining.redo.thread.scn.adjustment",
        integer(0),
        "1",
        Group.REPLICATION,
        "Number of SCNs by which a window ends before the last redo of the slowest thread.",
    )
    internal_log_mining_log_query_max_retries = Property(
        "internal.log.mining.log.query.max.retries",
        integer(0),
        "5",
        Group.REPLICATION,
        "How often headrace looks for logs again if they are inconsistent, with pauses of 1 to 60 "
        "seconds.",
    )
    internal_log_mining_sql_relaxed_quote_detection = Property(
        "internal.log.mining.sql.relaxed.quote.detection",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "LogMiner does not double the quotes in extended strings: the end of a text is recognised "
        "by the text after it.",
    )
