"""Properties: the places of control tables and change tables, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.config.configuration import Configuration
from headrace.config.finding import PropertyFinding
from headrace.config.kinds import BOOLEAN, ValueKind, choice, integer, milliseconds, one_of
from headrace.config.property import Group, Property
from headrace.connectors.db2.properties.modes import Db2Platform
from headrace.transforms.debezium.zone_offsets import zone_of


def stored_name(identifier: str) -> str:
    """Return the catalogue's name of an SQL identifier: in upper case, unless it is in quotation
    marks."""
    if len(identifier) > 2 and identifier.startswith('"') and identifier.endswith('"'):
        return identifier[1:-1].replace('""', '"')
    return identifier.upper()


def _zone(name: str) -> str:
    zone_of(name)
    return name


_ZONE: ValueKind[str] = ValueKind(
    "a time zone (`Europe/Berlin`) or a distance from UTC (`+02:00`)", _zone
)
_SCHEMA: ValueKind[str] = ValueKind("a name of a schema", stored_name)


class ChangeTablesConfig(Configuration):
    """Control tables, change tables, and the windows in which they are read."""

    db2_platform = Property(
        "db2.platform",
        choice(Db2Platform, aliases={"z": "ZOS", "luw": "LUW", "zos": "ZOS"}),
        "LUW",
        Group.REPLICATION,
        "The platform of the server, which determines the SQL: `LUW` (Linux, UNIX, Windows) or "
        "`ZOS`.",
    )
    cdc_control_schema = Property(
        "cdc.control.schema",
        _SCHEMA,
        "ASNCDC",
        Group.REPLICATION,
        "Schema of the control tables: IBMSNAP_REGISTER, IBMSNAP_UOW. It is converted to upper "
        "case, unless it is in quotation marks.",
    )
    cdc_change_tables_schema = Property(
        "cdc.change.tables.schema",
        _SCHEMA,
        "ASNCDC",
        Group.REPLICATION,
        "Schema of the change tables, if a registration does not name one (CD_OWNER). It is "
        "converted to upper case, unless it is in quotation marks.",
    )
    streaming_query_timespan_seconds = Property(
        "streaming.query.timespan.seconds",
        integer(0),
        "0",
        Group.REPLICATION,
        "The longest time span of commits (by IBMSNAP_UOW), in seconds, whose changes are read at "
        "once; 0 is no limit. Memory is limited in either case.",
    )
    z_stop_lsn_ignore = Property(
        "z.stop.lsn.ignore",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "If true, on z/OS the changes of a registration do not end where the next registration "
        "begins.",
    )
    poll_interval_ms = Property(
        "poll.interval.ms",
        milliseconds(1),
        "500",
        Group.RUNTIME,
        "Pause before the control tables are read again if there are no new changes.",
    )
    query_fetch_size = Property(
        "query.fetch.size",
        integer(0),
        "10000",
        Group.RUNTIME,
        "Rows of a change table that are fetched from the driver at once; 0 leaves it to headrace.",
    )

    headrace_change_tables_connections = Property(
        "headrace.change.tables.connections",
        integer(1),
        "3",
        Group.HEADRACE,
        "How many connections read change tables in parallel; each is opened when a table needs "
        "it, and one more reads the control tables.",
    )
    headrace_capture_time_zone = Property(
        "headrace.capture.time.zone",
        _ZONE,
        None,
        Group.HEADRACE,
        "The time zone of Capture's clock, in which IBMSNAP_UOW and IBMSNAP_REGISTER contain the "
        "times of commits and of the synchpoint: an identifier (`Europe/Berlin`), by which each "
        "commit has the daylight saving time of its own day, or a distance from UTC (`+02:00`, "
        "`+00:00`). By default the server's time zone at each reading (CURRENT TIMEZONE).",
    )
    headrace_change_tables_gap = Property(
        "headrace.change.tables.gap",
        one_of("fail", "accept"),
        "fail",
        Group.HEADRACE,
        "The action if a change table begins after the place that was read last (it was pruned, "
        "or its table was registered again): `fail` is an error, or a new snapshot with "
        "snapshot.mode=when_needed; with `accept` headrace continues.",
    )

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        if self.streaming_query_timespan_seconds == 1:
            yield PropertyFinding(
                "config.impossible_value",
                "streaming.query.timespan.seconds",
                "streaming.query.timespan.seconds = 1 is refused, as by Debezium",
                "Set 2 or more seconds (120 is usual), or 0 for no limit.",
            )
