"""Environments of a process in a cloud."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.config.credentials import kept
from tests.config.tokens.identities import Cloud
from tests.servers.certificates import Certificate


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate.make(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with Cloud() as opened:
        yield opened


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A process without an identity of any cloud, which has no token yet."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "IDENTITY_", "MSI_", "IMDS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    kept._kept.clear()


class Clock:
    """The clock of secrets that are kept."""

    def __init__(self) -> None:
        self.passed = 0.0

    def advance(self, seconds: float) -> None:
        self.passed += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake_clock, time = Clock(), kept.time.monotonic
    monkeypatch.setattr(kept.time, "monotonic", lambda: time() + fake_clock.passed)
    return fake_clock
