"""Run the transforms of a configuration over records in JSON, a line each."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO

from headrace.cli.messages import Messages
from headrace.config.formats import read_file
from headrace.errors import HeadraceError
from headrace.findings import counted

if TYPE_CHECKING:
    from headrace.transforms.chain import Chain, ChainStep

_AT_ONCE = 10_000  # records


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", help="properties or JSON with transforms and predicates")
    parser.add_argument(
        "records",
        nargs="?",
        help="records in Kafka Connect's JSON form, or lines that `headrace events` wrote "
        "(default: standard input)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write a line per record: the record after the chain, null, or its error; and to standard
    error how many failed, if any."""
    from headrace.transforms.json_form import examine_properties  # loads Numba

    messages = Messages()
    examined = examine_properties(read_file(arguments.file))
    for warning in examined.warnings:
        messages.warning(str(warning))
    with _opened(arguments.records) as lines:
        counts = _run(examined.chain, lines)
    sys.stdout.flush()
    if counts.schemaless:
        messages.warning(str(_without_schemas(examined.chain, counts)))
    if counts.failed:
        messages.warning(f"{counts.failed:,} of {counted(counts.records, 'record')} failed")
    return 0


@dataclass
class _Counts:
    """Numbers of records, of failed ones, and of change events without schemas if the chain has a
    transform that accepts only those with schemas."""

    records: int = 0
    failed: int = 0
    schemaless: int = 0


def _without_schemas(chain: Chain, counts: _Counts) -> HeadraceError:
    """Return a warning about change events without schemas."""
    steps = ", ".join(
        f"transforms.{step.alias}" for step in chain.steps if _takes_schemas_only(step)
    )
    return HeadraceError(
        "transforms.without_schema",
        f"{counts.schemaless:,} of {counted(counts.records, 'record')} are change events without a "
        f"schema; {steps} needs events with schemas and passes these unchanged",
        "Write the events with schemas (key.converter.schemas.enable=true and "
        "value.converter.schemas.enable=true, the defaults), and run these records again.",
    )


def _takes_schemas_only(step: ChainStep) -> bool:
    from headrace.transforms.transform import TakesSchemasOnly

    return isinstance(step.transform, TakesSchemasOnly)


def _is_schemaless_event(record: object) -> bool:
    """Return whether a record is a change event without a schema."""
    value = record.get("value") if isinstance(record, dict) else None
    if not isinstance(value, dict) or value.get("schema") is not None:
        return False
    payload = value.get("payload")
    return isinstance(payload, dict) and "op" in payload and "source" in payload


def _record(entry: Any) -> Any:
    """Return a record in Kafka Connect's JSON form: unchanged, or made of a line of `headrace
    events`, whose headers are an object or left out, and whose key and value have no schema unless
    the converter wrote one with them. Anything else is returned unchanged, and refused by its
    reader."""
    if not isinstance(entry, dict) or not isinstance(entry.get("headers", {}), dict):
        return entry
    headers = [{"name": name, **_part(value)} for name, value in entry.get("headers", {}).items()]
    parts = {
        name: None if entry.get(name) is None else _part(entry[name]) for name in ("key", "value")
    }
    return {**entry, **parts, "headers": headers}


def _part(written: object) -> dict[str, object]:
    """Return a converter's output, with its schema (None: it has none)."""
    if isinstance(written, dict) and written.keys() == {"schema", "payload"}:
        return written
    return {"schema": None, "payload": written}


def _run(chain: Chain, lines: TextIO) -> _Counts:
    """Write the result of each record; return how many records there were."""
    from headrace.transforms.json_form import run_chain

    records, counts = _records(lines), _Counts()
    takes_schemas_only = any(map(_takes_schemas_only, chain.steps))
    while batch := list(islice(records, _AT_ONCE)):
        results = iter(
            run_chain(chain, [record for record in batch if not isinstance(record, HeadraceError)])
        )
        for record in batch:
            is_error = isinstance(record, HeadraceError)
            result = {"error": str(record)} if is_error else next(results)
            counts.records += 1
            counts.failed += result is not None and "error" in result
            counts.schemaless += takes_schemas_only and _is_schemaless_event(record)
            print(json.dumps(result, ensure_ascii=False, separators=(",", ":")))
    return counts


def _opened(path: str | None) -> AbstractContextManager[TextIO]:
    if path is None:
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
        return nullcontext(sys.stdin)
    try:
        # Bytes that are not UTF-8 are an error of their line.
        return open(path, encoding="utf-8", errors="surrogateescape")  # noqa: PTH123
    except OSError as error:
        raise HeadraceError(
            "cli.unreadable_records",
            f"the records {path} cannot be read ({error.strerror})",
            "Check the path and its permissions.",
        ) from None


def _records(lines: TextIO) -> Iterator[dict[str, object] | HeadraceError]:
    """Yield the records, and the errors of lines that are not JSON."""
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
