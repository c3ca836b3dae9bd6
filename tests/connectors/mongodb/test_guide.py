"""The commands of the guide work, and suffice."""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bson import json_util

from headrace.config.formats import read_text
from headrace.connectors.mongodb import errors
from headrace.connectors.mongodb.shell_json import to_extended_json
from headrace.connectors.registry import check, parse_configuration
from headrace.testing.mongodb import MongoServer
from tests.docs.guides import check_example_in_spark, codes_of_failures
from tests.docs.pages import blocks
from tests.servers.mongodb_kinds import GuardedServer

PAGE = "docs/guides/mongodb.md"
COMMAND = re.compile(r'^db\.(?:getSiblingDB\("(\w+)"\)\.runCommand|adminCommand)\((.+)\)$')


@pytest.mark.mongodb
def test_the_guides_commands_prepare_a_server(
    mongodb_servers: Callable[[str], MongoServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mongodb_servers("plain").running
    lines = "".join(block.text for block in blocks(PAGE, "js")).splitlines()
    assert len(lines) > 5
    with GuardedServer() as server:
        server.start()
        with server.connect_to_member() as client:
            for name in ("customers", "orders"):
                client["inventory"][name].insert_one({})
            for line in lines:
                command_line = COMMAND.match(line)
                assert command_line is not None, line
                command: dict[str, Any] = json_util.loads(to_extended_json(command_line[2]))
                client[command_line[1] or "admin"].command(command)
        monkeypatch.setenv("CDC_PASSWORD", "secret")
        text = blocks(PAGE, "properties")[0].text
        properties = read_text(text.replace("mongodb://h1,h2/?replicaSet=rs0", server.uri))
        more = {
            "signal.data.collection": "inventory.signals",
            "capture.mode": "change_streams_update_full_with_pre_image",
        }
        findings = check(parse_configuration(properties.with_overrides(more)))
    # One collection of the two keeps images.
    assert [finding.code for finding in findings if finding.level != "ok"] == ["mongodb.no_images"]
    (images,) = (finding for finding in findings if finding.code == "mongodb.no_images")
    assert "inventory.customers" in images.message


def program(line: str) -> str:
    """The output of a line of the guide that prints the path of the embedded server's program."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    return subprocess.run(
        ["/bin/bash", "-c", line], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.mongodb
def test_the_guides_own_server_is_started_and_initiated_as_it_says(
    mongodb_servers: Callable[[str], MongoServer], tmp_path: Path
) -> None:
    assert mongodb_servers("plain").running
    start, where, shell = (block.text for block in blocks(PAGE, "sh")[-3:])
    initiate = blocks(PAGE, "python")[-1].text
    document = re.search(r"rs\.initiate\((.*)\)'", shell)
    assert document is not None
    assert ast.literal_eval(to_extended_json(document[1])) == ast.literal_eval(
        initiate[initiate.index('{"_id"') : initiate.rindex(")")]
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    folder, line = (text.partition("#")[0].split() for text in start.splitlines())
    subprocess.run(folder, cwd=tmp_path, check=True)
    line = [program(where), *(word.replace("27017", port) for word in line[1:])]
    with (tmp_path / "log").open("w") as log, subprocess.Popen(
        line, cwd=tmp_path, stdout=log
    ) as server:  # fmt: skip
        try:
            names: dict[str, Any] = {}
            exec(initiate.replace("27017", port), names)
            names["member"].close()
            string = f"mongodb://127.0.0.1:{port}/?replicaSet=rs0"
            properties = {"connector.class": "mongodb", "topic.prefix": "p"}
            findings = check(
                parse_configuration({**properties, "mongodb.connection.string": string})
            )
            assert {finding.code for finding in findings if finding.level == "error"} == set()
            assert "mongodb.change_stream" in {finding.code for finding in findings}
        finally:
            server.terminate()


def test_the_guides_example_in_spark_has_its_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDC_PASSWORD", "secret")
    check_example_in_spark(PAGE, "collection_include_list")


def test_the_guide_lists_every_error_that_ends_a_query() -> None:
    answers = [value for value in vars(errors).values() if isinstance(value, errors.Wording)]
    answers += errors._BY_CODE.values()
    answers += [answer for _, answer in errors._BY_TEXT]
    codes = {f"mongodb.{answer.code}" for answer in answers if not answer.retriable}
    assert codes - {"mongodb.no_replica_set"} <= codes_of_failures(PAGE)
