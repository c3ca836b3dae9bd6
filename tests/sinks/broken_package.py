"""A package of a sink that cannot be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest


def install_broken_sink(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python find a package with the sink `broken`, whose module needs a missing one."""
    information = folder / "broken_sink-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-sink\nVersion: 1\n")
    (information / "entry_points.txt").write_text(
        "[headrace.sinks]\nbroken = broken_sink:DEFINITION\n"
    )
    (folder / "broken_sink.py").write_text("import no_such_client\n")
    monkeypatch.syspath_prepend(folder)
