"""Show a server's replication slots and what they keep, or drop one: headrace slots [drop] FILE."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console

from headrace.config.formats import OF_SPARK, read_file
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.registry import find_definition, parse_configuration, require_driver
from headrace.errors import HeadraceError
from headrace.findings import aligned, counted, sized

if TYPE_CHECKING:
    from headrace.connectors.postgresql.replication.slot_watch import ListedSlot

_DROP = "drop"
_HEADINGS = ["slot", "plug-in", "database", "read by", "wal_status", "lag", "keeps", "may grow by"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = """examples:
  headrace slots my.properties
  headrace slots drop my.properties                  the configuration's own slot
  headrace slots drop my.properties --slot debezium  another one of the same server"""
    parser.add_argument(
        "words", nargs="+", metavar="[drop] FILE", help="Debezium configuration: properties or JSON"
    )
    parser.add_argument("--slot", metavar="NAME", help="with drop: which (default: slot.name)")
    parser.add_argument("--json", action="store_true", help="print the slots as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the slots, or drop one. Raises HeadraceError: `postgresql.slot_missing`,
    `postgresql.slot_in_use`, `cli.usage`, and errors of `connect`."""
    drops = len(arguments.words) == 2 and arguments.words[0] == _DROP
    if len(arguments.words) != 1 and not drops:
        raise HeadraceError(
            "cli.usage", "headrace slots takes one file", "headrace slots [drop] FILE"
        )
    properties, _ = read_file(arguments.words[-1]).split(OF_SPARK)
    config = parse_configuration(properties)
    if not isinstance(config, PostgresConfig):
        raise HeadraceError(
            "cli.usage",
            f"The configuration is for {config.connector_class}, which has no replication slots",
            "Name the configuration of a PostgreSQL connector.",
        )
    require_driver(find_definition(str(config.connector_class)))
    if drops:
        _drop(config, arguments.slot or config.slot_name)
    else:
        _show(config, as_json=arguments.json)
    return 0


def _show(config: PostgresConfig, *, as_json: bool) -> None:
    from headrace.connectors.postgresql.connection import opened
    from headrace.connectors.postgresql.replication.slot_watch import read_slots

    with opened(config, "Reading the slots") as connection:
        slots = read_slots(connection)
    console = Console(soft_wrap=True, highlight=False)
    if as_json:
        console.print_json(json.dumps([asdict(slot) for slot in slots]))
        return
    for line in aligned([_HEADINGS, *(_cells(slot, config.slot_name) for slot in slots)]):
        console.print(line)
    is_made = any(slot.name == config.slot_name for slot in slots)
    note = "* is this configuration's (slot.name)"
    note = note if is_made else f"this configuration's, {config.slot_name}, is not made"
    console.print(f"{counted(len(slots), 'slot')}; {note}")


def _cells(slot: ListedSlot, configured_name: str) -> tuple[str, ...]:
    figures = slot.metrics
    is_unlimited = figures.safe_wal_size is None and (figures.keep_size or 0) < 0
    return (
        f"{slot.name} *" if slot.name == configured_name else slot.name,
        slot.plugin,
        slot.database or "",
        "nobody" if slot.pid is None else f"{slot.application or '?'} (PID {slot.pid})",
        figures.wal_status or "",
        sized(figures.lag_bytes),
        sized(figures.retained_bytes),
        "no limit" if is_unlimited else sized(figures.safe_wal_size),
    )


def _drop(config: PostgresConfig, name: str) -> None:
    from headrace.connectors.postgresql.connection import opened
    from headrace.connectors.postgresql.replication.slot import drop_slot, slot_in_use
    from headrace.connectors.postgresql.replication.slot_watch import read_slots

    with opened(config, f"Dropping the slot {name}") as connection:
        slots = {slot.name: slot for slot in read_slots(connection)}
        if name not in slots:
            raise HeadraceError(
                "postgresql.slot_missing",
                f"The server has no slot {name}",
                "`headrace slots FILE` shows those that it has.",
            )
        slot = slots[name]
        if slot.pid is not None:
            raise slot_in_use(f"The slot {name} is active for PID {slot.pid}, and stays")
        drop_slot(connection, name)
    retained = sized(slot.metrics.retained_bytes) or "an unknown amount"
    Console(soft_wrap=True, highlight=False).print(
        f"slot {name} dropped; it kept {retained} of WAL"
    )
