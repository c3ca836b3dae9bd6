"""Properties of values and their form in events."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import BOOLEAN
from headrace.config.property import Group, Property


class OracleValuesConfig(Configuration):
    """Properties of large objects, numbers, and numbers of statements."""

    lob_enabled = Property(
        "lob.enabled",
        BOOLEAN,
        "false",
        Group.VALUES,
        "Captures the values of CLOB, NCLOB, BLOB, XMLTYPE and extended strings.",
    )
    legacy_decimal_handling_strategy = Property(
        "legacy.decimal.handling.strategy",
        BOOLEAN,
        "false",
        Group.VALUES,
        "Columns NUMBER(p, 0) are integers in decimal.handling.mode double and string, too.",
    )
    headrace_source_ssn = Property(
        "headrace.source.ssn",
        BOOLEAN,
        "false",
        Group.HEADRACE,
        "`source.ssn` is the SQL sequence number of the redo; Debezium always writes 0.",
    )
