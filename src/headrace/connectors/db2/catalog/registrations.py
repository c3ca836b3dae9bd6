"""The tables that are registered for SQL replication."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connectors.db2 import sql
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection

ACTIVE = "A"


@dataclass(frozen=True)
class Registration:
    """A row of IBMSNAP_REGISTER: a source table and its change table. A table may have two, while
    one takes over from the other. Numbers of the log are as stored, or None: `old_synchpoint` is
    where the change table begins (pruning moves it), `new_synchpoint` its last commit."""

    source_schema: str
    source_table: str
    change_schema: str
    change_table: str
    old_synchpoint: bytes | None
    new_synchpoint: bytes | None
    synchpoint: bytes | None
    state: str
    """A(ctive), I(nactive), S(topped)."""
    has_pairs: bool
    """Whether the rows of an update are a D and an I (CHG_UPD_TO_DEL_INS)."""


def registrations(
    connection: Connection, config: Db2Config, begun_at: bytes | None = None
) -> list[Registration]:
    """Return all registrations, ordered by table and by where they begin. `begun_at`: only those
    whose change tables begin at this number or after it. Raises DriverError."""
    found_registrations = []
    parameters = () if begun_at is None else (begun_at,)
    query = sql.registrations(config, begun=begun_at is not None)
    for row in connection.rows(query, parameters):
        source_schema, source_table, change_schema, change_table, *lsns, state, pairs = row
        old, new, synchpoint = (None if lsn is None else bytes(lsn) for lsn in lsns)
        found_registrations.append(
            Registration(
                source_schema.rstrip(),
                source_table.rstrip(),
                (change_schema or config.cdc_change_tables_schema).rstrip(),
                change_table.rstrip(),
                old,
                new,
                synchpoint,
                state or ACTIVE,
                (pairs or "Y") == "Y",
            )
        )
    return sorted(found_registrations, key=_order)


def _order(registration: Registration) -> tuple[str, str, int, str]:
    old = registration.old_synchpoint
    start = 0 if old is None else int.from_bytes(old)
    return registration.source_schema, registration.source_table, start, registration.change_table
