"""Run the transforms of a configuration over records in JSON, a line each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import TextIO

from headrace.config.source import read_file
from headrace.errors import HeadraceError
from headrace.transforms.chain import Chain
from headrace.transforms.json_form import read_chain, run_chain

_AT_ONCE = 10_000  # records


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("file", help="properties or JSON with transforms and predicates")
    parser.add_argument(
        "records",
        nargs="?",
        help="records in Kafka Connect's JSON form, a line each (default: standard input)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes a line per record: the record behind the chain, null, or its error."""
    chain = read_chain(read_file(arguments.file))
    with _opened(arguments.records) as lines:
        _run(chain, lines)
    return 0


def _run(chain: Chain, lines: TextIO) -> None:
    records = _records(lines)
    while some := list(islice(records, _AT_ONCE)):
        for result in run_chain(chain, some):
            print(json.dumps(result, ensure_ascii=False, separators=(",", ":")))


def _opened(path: str | None) -> AbstractContextManager[TextIO]:
    if path is None:
        return nullcontext(sys.stdin)
    try:
        return open(path, encoding="utf-8")  # noqa: PTH123
    except OSError as error:
        raise HeadraceError(
            "cli.unreadable_records",
            f"the records {path} cannot be read ({error.strerror})",
            "Check the path and its permissions.",
        ) from None


def _records(lines: TextIO) -> Iterator[dict[str, object]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise HeadraceError(
                "cli.bad_record",
                f"line {number} of the records is not JSON: {error}",
                'Write one {"topic": …, "key": …, "value": …, "headers": […]} per line.',
            ) from None
