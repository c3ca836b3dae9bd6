"""The workload of a support bundle in a Db2: a schema of its own with tables that are registered
for SQL replication, and changes for which Capture's behaviour is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headrace.connectors.db2 import sql
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.registering.statements import (
    adding,
    default_change_table,
    removing,
)
from headrace.connectors.db2.sql import control_table, literal, quoted
from headrace.connectors.db2.support.questions import COLUMNS, SIGNALS
from headrace.support.questions import Question, Shown

SCHEMA = "HEADRACE_KIT"
PLACE = f"the schema {SCHEMA}"
TABLES: Mapping[str, str] = {
    "CHANGES": "T VARCHAR(100), D DECIMAL(15, 3), W TIMESTAMP, B VARCHAR(20) FOR BIT DATA",
    "UNSIGNALLED": "T VARCHAR(100)",
    "EXPRESSIONS": "A INTEGER, B INTEGER GENERATED ALWAYS AS (A * 2)",
    "LARGE": "C CLOB(1M), X XML",
    "KINDS": "F DECFLOAT(34), G TIMESTAMP(12), H BOOLEAN, I VARGRAPHIC(20), J BINARY(4)",
}
"""Columns besides the key ID, by the tables' names."""
SIGNALLED = "CHANGES"
"""The table for which Capture gets a CAPSTART signal."""
_WORDS = ("SIGNAL_TYPE", "SIGNAL_SUBTYPE", "SIGNAL_STATE", "SIGNAL_LSN", "SIGNAL_INPUT_IN")


@dataclass(frozen=True)
class Transaction:
    """Statements of one table that are committed together, and the statements that undo them."""

    table: str
    statements: Sequence[Question]
    undo: Sequence[Question]


def change_table(table: str) -> str:
    """Return the name of a table's change table."""
    return default_change_table(SCHEMA, table)


def signal(config: Db2Config, kind: str, schema: str, table: str) -> str:
    """Return the statement that gives Capture a signal, CAPSTART or CAPSTOP (`kind`), for each of
    the subscriptions of a table: begin to capture its changes, or end that."""
    return (
        f"INSERT INTO {control_table(config, SIGNALS)} (SIGNAL_TYPE, SIGNAL_SUBTYPE, "
        f"SIGNAL_INPUT_IN, SIGNAL_STATE) SELECT 'CMD', {literal(kind)}, MAP_ID, 'P' "
        f"FROM {control_table(config, sql.PRUNING)} WHERE SOURCE_OWNER = {literal(schema)} "
        f"AND SOURCE_TABLE = {literal(table)}"
    )


class Kit:
    """The statements of a configuration, whose control tables have a schema of their own."""

    def __init__(self, config: Db2Config) -> None:
        self._config = config
        register = control_table(config, sql.REGISTER)
        units = control_table(config, sql.UNITS_OF_WORK)
        of_schema = f"SOURCE_OWNER = {literal(SCHEMA)}"
        self.registrations = _question(
            "kit_registrations",
            f"SELECT SOURCE_TABLE, STATE, STATE_INFO, CD_OLD_SYNCHPOINT, CD_NEW_SYNCHPOINT, "
            f"SYNCHPOINT, SYNCHTIME FROM {register} WHERE {of_schema}",
            "what Capture made of the registrations",
        )
        self.signals = _question(
            "kit_signals",
            f"SELECT {', '.join(_WORDS)}, SIGNAL_TIME FROM {control_table(config, SIGNALS)} "
            f"WHERE SIGNAL_INPUT_IN IN (SELECT MAP_ID FROM {control_table(config, sql.PRUNING)} "
            f"WHERE {of_schema})",
            "what Capture made of the signal",
        )
        own_units = (
            f"FROM {units} WHERE IBMSNAP_COMMITSEQ IN "
            f"(SELECT IBMSNAP_COMMITSEQ FROM {self._changes_of(SIGNALLED)})"
        )
        self.units = _question(
            "kit_units",
            f"SELECT IBMSNAP_COMMITSEQ, IBMSNAP_LOGMARKER, CURRENT TIMESTAMP AS SERVER_TIME, "
            f"CURRENT TIMEZONE AS SERVER_ZONE {own_units}",
            "times of the workload's commits beside the server's clock",
        )
        self.captured = _question(
            "kit_captured", f"SELECT COUNT(*) {own_units}",
            "again and again, until Capture has written a commit of the workload",
        )  # fmt: skip

    def _changes_of(self, table: str) -> str:
        return quoted(self._config.cdc_change_tables_schema, change_table(table))

    def changes(self, table: str) -> Question:
        """Return the query of the rows of a change table, whose values are the workload's."""
        name = change_table(table)
        return _question(
            "kit_changes", f"SELECT * FROM {self._changes_of(table)}",
            "what came of the changes; values are shown", f"{PLACE}, {name}",
        )  # fmt: skip

    # -- creation -------------------------------------------------------------------------------

    @staticmethod
    def schema() -> Transaction:
        """Return the transaction that creates the schema."""
        creation = _question("kit_schema", f"CREATE SCHEMA {SCHEMA}", "a schema of its own")
        undo = _question("kit_drop_schema", f"DROP SCHEMA {SCHEMA} RESTRICT", "nothing is left")
        return Transaction("", [creation], [undo])

    @staticmethod
    def table(table: str) -> Transaction:
        """Return the transaction that creates a table."""
        path = quoted(SCHEMA, table)
        text = f"CREATE TABLE {path} (ID INTEGER NOT NULL PRIMARY KEY, {TABLES[table]})"
        creation = _of(table, "kit_table", text, "a table for each open question")
        undo = _of(table, "kit_drop", f"DROP TABLE {path}", "nothing is left")
        return Transaction(table, [creation], [undo])

    def registration(self, table: str) -> Transaction:
        """Return the registration of a table, whose change table has all columns of the table, as
        ADDTABLE creates it. An error of Capture ends this registration alone."""
        config, name = self._config, change_table(table)
        steps = adding(config, SCHEMA, table, name)
        register = control_table(config, sql.REGISTER)
        tolerant = (
            f"UPDATE {register} SET STOP_ON_ERROR = 'N' WHERE SOURCE_OWNER = {literal(SCHEMA)} "
            f"AND SOURCE_TABLE = {literal(table)}"
        )
        statements = [*(statement.sql for statement in steps if statement.is_needed), tolerant]
        undo = [
            statement.sql
            for statement in removing(config, SCHEMA, table, name)
            if statement.is_needed
        ]
        return Transaction(
            table,
            [
                _of(table, "kit_register", statement, "its registration, in one transaction")
                for statement in statements
            ],
            [_of(table, "kit_unregister", statement, "nothing is left") for statement in undo],
        )

    def signal(self) -> Transaction:
        """Return the signal to Capture to begin with one of the tables. It begins with all of them
        when it reads its registrations again (`again`), where the site has that function."""
        signals = [self._signal("CAPSTART")]
        undo = [self._signal("CAPSTOP")]
        return Transaction(SIGNALLED, signals, undo)

    def _signal(self, kind: str) -> Question:
        text = signal(self._config, kind, SCHEMA, SIGNALLED)
        return _of(SIGNALLED, "kit_signal", text, f"a signal to Capture: {kind}")

    def again(self) -> Question:
        """Return the statement that makes Capture read its registrations again."""
        # The same as `checks.replication.reinitialize`, whose module needs the driver.
        services = f"{quoted(self._config.cdc_control_schema)}.ASNCDCSERVICES"
        text = f"VALUES {services}('reinit','asncdc')"
        return _question("kit_reinitialize", text, "Capture reads its registrations again")

    # -- changes --------------------------------------------------------------------------------

    @staticmethod
    def written() -> Iterator[Sequence[Question]]:
        """Yield sequences of changes, each of which is one commit."""
        values = {
            "CHANGES": "'it''s é', 12.340, CURRENT TIMESTAMP, X'00FF'",
            "UNSIGNALLED": "'one'",
            "LARGE": "'large', XMLPARSE(DOCUMENT '<a>é</a>' PRESERVE WHITESPACE)",
            "KINDS": "1.50, '2024-02-29 23:59:58.123456789012', TRUE, 'é', BX'00FF00FF'",
        }
        why = "changes, of which change tables tell"
        for table, row in values.items():
            text = f"INSERT INTO {quoted(SCHEMA, table)} VALUES (1, {row})"
            yield [_of(table, "kit_insert", text, why)]
        path = quoted(SCHEMA, "EXPRESSIONS")
        yield [
            _of("EXPRESSIONS", "kit_insert", f"INSERT INTO {path} (ID, A) VALUES (1, 21)", why),
            _of("EXPRESSIONS", "kit_update", f"UPDATE {path} SET A = 22 WHERE ID = 1", why),
        ]
        path = quoted(SCHEMA, SIGNALLED)
        yield [
            _of(SIGNALLED, f"kit_{text.split()[0].lower()}", text, why)
            for text in (
                f"UPDATE {path} SET T = 'two' WHERE ID = 1",
                f"UPDATE {path} SET ID = 2 WHERE ID = 1",
                f"INSERT INTO {path} (ID, T) VALUES (3, 'three')",
                f"DELETE FROM {path} WHERE ID = 2",
            )
        ]

    def listed(self) -> Iterator[Question]:
        """Yield every statement, for `--dry-run`."""
        transactions = [
            self.schema(),
            *map(self.table, TABLES),
            *map(self.registration, TABLES),
            self.signal(),
        ]
        for transaction in transactions:
            yield from transaction.statements
        yield self.again()
        for commit in self.written():
            yield from commit
        yield from (self.captured, self.registrations, self.signals, self.units)
        yield from map(self.changes, TABLES)
        for transaction in reversed(transactions):
            yield from transaction.undo


def _question(name: str, text: str, why: str, place: str = PLACE) -> Question:
    """Return a question. All values of its rows are shown: they are the workload's, or
    Capture's."""
    columns = {**COLUMNS, **dict.fromkeys((*_WORDS, "STATE_INFO"), Shown.VALUE)}
    of_workload = dict.fromkeys(("ID", *"ABCDFGHIJTWX", "SOURCE_TABLE"), Shown.VALUE)
    return Question(name, text, why, place, {**columns, **of_workload})


def _of(table: str, name: str, text: str, why: str) -> Question:
    return _question(name, text, why, f"{PLACE}, {table}")
