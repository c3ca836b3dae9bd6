"""Remedies of the errors for tables that are not registered."""

from __future__ import annotations

import pytest

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.signal_table import signal_targets
from headrace.errors import HeadraceError
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2
_SIGNALS = "ID VARCHAR(42) NOT NULL PRIMARY KEY, TYPE VARCHAR(32) NOT NULL, DATA VARCHAR(2048)"
_REINIT = """VALUES "ASNCDC".ASNCDCSERVICES('reinit','asncdc');"""


def test_a_table_that_a_signal_names_and_nobody_registered_has_its_statement(
    db2_database: Db2Database,
) -> None:
    db2_database.create_table('"O\'x"', "ID INTEGER NOT NULL PRIMARY KEY", captured=False)
    targets = signal_targets(Db2Config.parse(db2_database.properties()), None)
    assert targets.silent == {"INV.O'x": f"""CALL "ASNCDC".ADDTABLE('INV', 'O''x'); {_REINIT}"""}


def test_a_signal_table_that_nobody_registered_has_its_statement(
    db2_database: Db2Database,
) -> None:
    db2_database.create_table("SIGNALS", _SIGNALS, captured=False)
    config = Db2Config.parse(db2_database.properties(signal_data_collection="INV.SIGNALS"))
    with pytest.raises(HeadraceError) as caught:
        signal_targets(config, "INV.SIGNALS")
    assert caught.value.code == "db2.not_registered"
    assert caught.value.remedy == f"""CALL "ASNCDC".ADDTABLE('INV', 'SIGNALS'); {_REINIT}"""
