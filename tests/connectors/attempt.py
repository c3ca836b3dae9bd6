"""`headrace events` with a configuration that cannot serve."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from headrace.cli import main

SECRET = "hunter-zwei"


class Attempt:
    """`headrace events` on a server: its output, its state, and the error that it printed."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.file = folder / "connector.properties"
        self.output, self.state = folder / "out.jsonl", folder / "state"
        self._capsys = capsys

    def refused(self, properties: Mapping[str, str]) -> tuple[str, str]:
        """Message and remedy; nothing else was printed, and nothing was written."""
        self.file.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
        arguments = ["--output", str(self.output), "--state", str(self.state)]
        assert main(["events", str(self.file), *arguments]) == 1
        printed = self._capsys.readouterr()
        error, remedy, rest = printed.err.split("\n")
        assert (printed.out, rest) == ("", "")
        assert error.startswith("error: ")
        assert remedy.startswith("remedy: ")
        assert SECRET not in printed.err
        assert not self.output.exists()
        assert not (self.state / "checkpoint").exists()
        return error, remedy


@pytest.fixture
def attempt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Attempt:
    return Attempt(tmp_path, capsys)
