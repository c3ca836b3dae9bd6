"""Register a table for SQL replication, or remove its registration: print the SQL, or run it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from rich.console import Console

from headrace.config.formats import read_file
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.properties.change_tables import stored_name
from headrace.connectors.db2.properties.modes import Db2Platform
from headrace.connectors.db2.registering.statements import (
    RegistrationStep,
    adding,
    default_change_table,
    is_large,
    reinitialize,
    removing,
)
from headrace.connectors.registry import find_definition, parse_configuration, require_driver
from headrace.errors import HeadraceError
from headrace.relational.table import Column

_ADD, _REMOVE = "add-table", "remove-table"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = """examples:
  headrace db2 add-table my.properties INVENTORY.CUSTOMERS
  headrace db2 add-table my.properties INVENTORY.CUSTOMERS --run
  headrace db2 remove-table my.properties INVENTORY.CUSTOMERS --change-table CDC_OLD"""
    parser.add_argument("action", choices=(_ADD, _REMOVE), help="what to do")
    parser.add_argument("file", metavar="FILE", help="Debezium configuration: properties or JSON")
    parser.add_argument(
        "table",
        metavar="SCHEMA.TABLE",
        help="the source table, converted to upper case unless a name is in quotation marks",
    )
    parser.add_argument(
        "--change-table", metavar="NAME", help="its change table (default: CDC_SCHEMA_TABLE)"
    )
    parser.add_argument(
        "--keep-data-capture",
        action="store_true",
        help="do not change DATA CAPTURE of the source table; this is the default of remove-table "
        "with --change-table, because the table may have another change table",
    )
    parser.add_argument(
        "--run", dest="runs", action="store_true", help="run the statements, in one transaction"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the statements, or run them. Raises HeadraceError: `cli.usage`, and errors of the
    database."""
    config = parse_configuration(read_file(arguments.file))
    if not isinstance(config, Db2Config):
        raise HeadraceError(
            "cli.usage",
            f"The configuration is for {config.connector_class}; only tables of Db2 are registered",
            "Name the configuration of a Db2 connector.",
        )
    if config.db2_platform == Db2Platform.ZOS:
        raise HeadraceError(
            "cli.usage",
            f"{arguments.action} writes statements of Db2 for LUW, and db2.platform is ZOS",
            "Register tables of Db2 for z/OS with ASNCLP or the Replication Center, then let "
            "Capture read its registrations again: MODIFY capture,REINIT.",
        )
    console = Console(soft_wrap=True, highlight=False, markup=False)
    steps = list(_steps(config, arguments, console))
    # Db2 wants a table reorganized after three units of work that alter it in this way (SQL0668N).
    console.print("-- in one unit of work: db2 +c -stvf FILE")
    for step in steps:
        console.print(f"{step.sql};")
    console.print("COMMIT;")
    if arguments.runs:
        _run(config, steps, f"{arguments.action} {arguments.table}", console)
    reinit = f"{reinitialize(config)} (or asnccmd … reinit)"
    console.print(f"-- then let Capture know of it: {reinit}")
    return 0


def _steps(
    config: Db2Config, arguments: argparse.Namespace, console: Console
) -> Iterator[RegistrationStep]:
    schema, dot, table = arguments.table.partition(".")
    if not (schema and dot and table):
        raise HeadraceError(
            "cli.usage",
            f"{arguments.table} is not a SCHEMA.TABLE",
            f"headrace db2 {arguments.action} FILE SCHEMA.TABLE",
        )
    schema, table = stored_name(schema), stored_name(table)
    name = arguments.change_table or default_change_table(schema, table)
    logs = not arguments.keep_data_capture
    if arguments.action == _ADD:
        columns = _columns(config, schema, table, console, is_required=arguments.runs)
        return adding(config, schema, table, name, columns, log_changes=logs)
    # With --change-table the source table may have another change table, which needs DATA CAPTURE.
    is_only = arguments.change_table is None
    return removing(config, schema, table, name, log_changes=is_only and logs)


def _columns(
    config: Db2Config, schema: str, table: str, console: Console, *, is_required: bool
) -> Sequence[Column] | None:
    """Return the columns of a table; None: they are not known. Raises HeadraceError if they are
    required and the database cannot be asked."""
    try:
        require_driver(find_definition(str(config.connector_class)))
        from headrace.connectors.db2.catalog.catalog import Catalog
        from headrace.connectors.db2.connection import opened

        with opened(config, f"Describing {schema}.{table}") as connection:
            columns = Catalog(connection).columns(schema, table)
    except HeadraceError as error:
        if is_required:
            raise
        console.print(f"-- the columns of {schema}.{table} could not be read: {error.message}")
        console.print("-- leave columns of LOBs and XML out: SQL replication captures none of them")
        return None
    for column in columns:
        if is_large(column):
            console.print(f"-- left out: {column.name}, SQL replication captures no {column.type}")
    return columns or None


def _run(config: Db2Config, steps: list[RegistrationStep], doing: str, console: Console) -> None:
    require_driver(find_definition(str(config.connector_class)))
    from headrace.connectors.db2.connection import opened
    from headrace.connectors.db2.errors import DriverError

    with opened(config, doing) as connection:
        for step in steps:
            try:
                connection.rows(step.sql)
            except DriverError as error:
                if step.is_needed:
                    raise
                reason = config.hidden.in_error(error.text)
                console.print(f"-- left out, and not needed: {step.sql}: {reason}")
        connection.commit()
    console.print("-- done")
