"""The SQL that registers tables: what it says, and that a database takes it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.registering import Step, adding, removing

CONFIG = Db2Config.parse(
    {
        "topic.prefix": "s",
        "database.hostname": "h",
        "database.user": "u",
        "database.dbname": "D",
        "cdc.control.schema": "ASN",
        "cdc.change.tables.schema": "CD",
    }
)


def texts(steps: Iterable[Step]) -> list[str]:
    return [step.sql for step in steps]


def test_a_registration_needs_the_log_a_change_table_and_two_rows() -> None:
    added = texts(adding(CONFIG, "Inv", "O'x", "CDC_Inv_O'x"))
    assert added[0] == """ALTER TABLE "Inv"."O'x" DATA CAPTURE CHANGES"""
    assert added[1].startswith("""CREATE TABLE "CD"."CDC_Inv_O'x" AS (SELECT """)
    assert '''INSERT INTO "ASN"."IBMSNAP_REGISTER"''' in added[-2]
    assert "'O''x'" in added[-2]
    assert '''INSERT INTO "ASN"."IBMSNAP_PRUNCNTL"''' in added[-1]
    removed = texts(removing(CONFIG, "Inv", "O'x", "CDC_Inv_O'x"))
    assert removed[-2:] == [
        '''DROP TABLE "CD"."CDC_Inv_O'x"''',
        """ALTER TABLE "Inv"."O'x" DATA CAPTURE NONE""",
    ]


@pytest.mark.parametrize("make", [adding, removing])
def test_data_capture_can_be_left_as_it_is(make: object) -> None:
    statements = texts(make(CONFIG, "INV", "T", "CDC_INV_T", log_changes=False))  # type: ignore[operator]
    assert not any("DATA CAPTURE" in statement for statement in statements)


def test_only_what_registers_is_needed() -> None:
    optional = [step.sql for step in adding(CONFIG, "INV", "T", "C") if not step.is_needed]
    assert optional == ['ALTER TABLE "CD"."C" VOLATILE CARDINALITY']
