"""The feed of ranges that a source process gives to the task of a micro-batch."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.spark.versions import feed as feeds


@pytest.fixture
def partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: bool) -> feeds.FeedPartition:
    monkeypatch.setattr(feeds, "is_local", lambda _command: local)
    monkeypatch.setattr(feeds, "_LOGIN_S", 1)
    monkeypatch.setattr(feeds, "_feeds", {})

    def parts() -> Iterator[Sequence[Any]]:
        yield ["a", "b"]
        yield ["c"]

    return feeds.feed(tmp_path / "journal", parts)


def stranger(partition: feeds.FeedPartition) -> socket.socket:
    address = partition.address
    if isinstance(address, tuple):
        return socket.create_connection(address)
    client = socket.socket(socket.AF_UNIX)
    client.connect(address)
    return client


@pytest.mark.parametrize("local", [True, False])
def test_clients_without_the_key_do_not_keep_a_task_from_its_ranges(
    partition: feeds.FeedPartition,
) -> None:
    with stranger(partition), stranger(partition) as browser:  # the first one sends nothing
        browser.sendall(b"GET / HTTP/1.1\r\nHost: headrace\r\n\r\n")
        with stranger(partition):
            pass  # closed at once
        assert list(partition.parts()) == ["a", "b", "c"]
    with pytest.raises(HeadraceError, match="AuthenticationError"):
        list(feeds.FeedPartition(partition.address, b"another key").parts())
    assert list(partition.parts()) == ["a", "b", "c"]


@pytest.mark.parametrize("local", [False])
def test_the_address_of_a_feed_for_other_hosts_is_not_a_loopback_address_of_a_hosts_file(
    partition: feeds.FeedPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(partition.address, tuple)
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    monkeypatch.setattr(feeds, "driver_command", list)
    monkeypatch.setattr(feeds, "_outgoing_address", lambda: "203.0.113.7")
    monkeypatch.setattr(socket, "gethostbyname", lambda _name: "127.0.1.1")
    assert feeds._host() == "203.0.113.7"
    monkeypatch.setattr(socket, "gethostbyname", lambda _name: "198.51.100.1")
    assert feeds._host() == "198.51.100.1"
