"""`headrace resync` asks for nothing that its signal could not bring."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli import main
from headrace.sinks.replicas.options import RESYNC

CONFIGURATION = """
connector.class=postgresql
topic.prefix=shop
database.hostname=localhost
database.user=u
database.dbname=d
headrace.sink.type=iceberg
headrace.sink.mode=replica
headrace.sink.warehouse=lake
"""


def test_a_signal_that_is_refused_leaves_the_table_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, state = tmp_path / "shop.properties", tmp_path / "state"
    file.write_text(CONFIGURATION + "signal.enabled.channels=source\n")
    assert main(["resync", str(file), "inventory.orders", "--checkpoint", str(state)]) == 1
    assert "signal.data.collection" in capsys.readouterr().err
    assert not (state / "iceberg" / RESYNC).exists()


def test_a_request_is_there_when_the_signal_is_sent(tmp_path: Path) -> None:
    file, state, signals = (tmp_path / name for name in ("shop.properties", "state", "signals"))
    channel = f"signal.enabled.channels=file\nsignal.file={signals}\nread.only=true\n"
    file.write_text(CONFIGURATION + channel)
    assert main(["resync", str(file), "inventory.orders", "--checkpoint", str(state)]) == 0
    (request,) = (state / "iceberg" / RESYNC).iterdir()
    assert '"requested"' in request.read_text()
    assert "execute-snapshot" in signals.read_text()
