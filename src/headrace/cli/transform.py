"""Run the transforms of a configuration over records in JSON, a line each."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any, TextIO

from headrace.cli.messages import Messages
from headrace.config.source import read_file
from headrace.errors import HeadraceError
from headrace.findings import counted
from headrace.transforms.chain import Chain
from headrace.transforms.json_form import read_chain, run_chain

_AT_ONCE = 10_000  # records


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("file", help="properties or JSON with transforms and predicates")
    parser.add_argument(
        "records",
        nargs="?",
        help="records in Kafka Connect's JSON form, or lines that `headrace events` wrote "
        "(default: standard input)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes a line per record: the record behind the chain, null, or its error; and to standard
    error how many failed, where any did."""
    chain = read_chain(read_file(arguments.file))
    with _opened(arguments.records) as lines:
        records, failed = _run(chain, lines)
    if failed:
        sys.stdout.flush()
        Messages().warning(f"{failed:,} of {counted(records, 'record')} failed")
    return 0


def _record(entry: Any) -> Any:
    """A record in Kafka Connect's JSON form: as it is, or made of a line that `headrace events`
    wrote, whose headers are an object, and whose key and value have no schema unless the converter
    wrote one beside them. What is no record stays as it is: its reader says what is wrong."""
    if not isinstance(entry, dict) or not isinstance(entry.get("headers"), dict):
        return entry
    headers = [{"name": name, **_part(value)} for name, value in entry["headers"].items()]
    parts = {
        name: None if entry.get(name) is None else _part(entry[name]) for name in ("key", "value")
    }
    return {**entry, **parts, "headers": headers}


def _part(written: object) -> dict[str, object]:
    """What a converter wrote, with its schema (None: it has none)."""
    if isinstance(written, dict) and written.keys() == {"schema", "payload"}:
        return written
    return {"schema": None, "payload": written}


def _run(chain: Chain, lines: TextIO) -> tuple[int, int]:
    """The numbers of records, and of those that failed."""
    records = _records(lines)
    number = failed = 0
    while some := list(islice(records, _AT_ONCE)):
        results = iter(
            run_chain(chain, [each for each in some if not isinstance(each, HeadraceError)])
        )
        for each in some:
            is_error = isinstance(each, HeadraceError)
            result = {"error": str(each)} if is_error else next(results)
            number += 1
            failed += result is not None and "error" in result
            print(json.dumps(result, ensure_ascii=False, separators=(",", ":")))
    return number, failed


def _opened(path: str | None) -> AbstractContextManager[TextIO]:
    if path is None:
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
        return nullcontext(sys.stdin)
    try:
        # Bytes that are no UTF-8 are an error of their line.
        return open(path, encoding="utf-8", errors="surrogateescape")  # noqa: PTH123
    except OSError as error:
        raise HeadraceError(
            "cli.unreadable_records",
            f"the records {path} cannot be read ({error.strerror})",
            "Check the path and its permissions.",
        ) from None


def _records(lines: TextIO) -> Iterator[dict[str, object] | HeadraceError]:
    """The records, and the errors of lines that are no JSON."""
    for number, line in enumerate(lines, 1):
        text = line.removeprefix("\ufeff") if number == 1 else line  # a byte order mark
        if not text.strip():
            continue
        try:
            yield _record(json.loads(text))
        except (ValueError, RecursionError) as error:
            yield HeadraceError(
                "cli.bad_record",
                f"line {number} of the records is not JSON: {error}",
                'Write one {"topic": …, "key": …, "value": …, "headers": […]} per line.',
            )
