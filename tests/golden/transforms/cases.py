"""The recorded cases: `cases("ExtractNewRecordState")` yields those of one recording.

`records/*.jsonl` and `recordings/*.jsonl` begin with a line of schemas, to which the keys, values
and headers below point by number. A recorded result has only the members that are not those of
its record; it is null for a record that is dropped and has "error" for one that fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RECORDS, RECORDINGS = HERE / "records", HERE / "recordings"
Record = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One chain over some records.

    `refused` is what the classes say of properties that they do not accept; there are no results
    then.
    """

    transform: str
    name: str
    properties: Mapping[str, str]
    record_names: tuple[str, ...]
    results: tuple[Record | None, ...]
    refused: str | None = None

    def records(self) -> list[Record]:
        """The records that go in."""
        return [stored_records()[name] for name in self.record_names]

    def __str__(self) -> str:
        return f"{self.transform}: {self.name}"


class SchemaTable:
    """The schemas of a file, each written once."""

    def __init__(self, schemas: Iterable[Any] = ()) -> None:
        self.schemas = list(schemas)
        self._numbers = {json.dumps(schema): i for i, schema in enumerate(self.schemas)}

    def number(self, schema: Any) -> int | None:
        """The schema's number in the table; None for no schema."""
        if schema is None:
            return None
        text = json.dumps(schema)
        number = self._numbers.setdefault(text, len(self.schemas))
        if number == len(self.schemas):
            self.schemas.append(schema)
        return number

    def packed(self, record: Record) -> Record:
        """The record, or some members of it, with numbers for schemas."""
        return self._each(record, self.number)

    def unpacked(self, record: Record) -> Record:
        """The reverse of `packed`."""
        return self._each(record, lambda number: None if number is None else self.schemas[number])

    def _each(self, record: Record, translated: Any) -> Record:
        translated_record = dict(record)
        for name in ("key", "value"):
            if translated_record.get(name) is not None:
                translated_record[name] = translated_record[name] | {
                    "schema": translated(translated_record[name]["schema"])
                }
        if "headers" in translated_record:
            translated_record["headers"] = [
                header | {"schema": translated(header["schema"])}
                for header in translated_record["headers"]
            ]
        return translated_record


def same(first: Any, second: Any) -> bool:
    """Whether two values of JSON are the same, types and order of members included."""
    return json.dumps(first) == json.dumps(second)


def _lines(file: Path) -> Iterator[Any]:
    with file.open() as lines:
        yield from map(json.loads, lines)


def write(file: Path, lines: Sequence[Any]) -> None:
    """JSON, a line each; an unpaired surrogate, which Java's texts may hold, is an escape."""
    file.parent.mkdir(exist_ok=True)
    texts = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines]
    file.write_text("\n".join(texts) + "\n", errors="backslashreplace")


@cache
def stored_records() -> Mapping[str, Record]:
    """All records, by name."""
    records: dict[str, Record] = {}
    for file in sorted(RECORDS.glob("*.jsonl")):
        head, *lines = _lines(file)
        table = SchemaTable(head["schemas"])
        for line in lines:
            assert line["name"] not in records
            records[line["name"]] = table.unpacked(line["record"])
    return records


def write_records(file: str, records: Mapping[str, Record]) -> None:
    """Store records by name."""
    table = SchemaTable()
    lines = [{"name": name, "record": table.packed(record)} for name, record in records.items()]
    write(RECORDS / f"{file}.jsonl", [{"schemas": table.schemas}, *lines])


def write_cases(name: str, cases: Sequence[Case], options: Mapping[str, Mapping[str, str]]) -> None:
    """Store a recording; `options` are those that each class declares, with their types."""
    table = SchemaTable()
    lines: list[Any] = []
    for case in cases:
        line = {"case": case.name, "properties": case.properties, "records": case.record_names}
        if case.refused is not None:
            lines.append(line | {"refused": case.refused})
            continue
        results: list[Record | None] = []
        for record, result in zip(case.records(), case.results, strict=True):
            if result is None or "error" in result:
                results.append(result)
                continue
            changed = {k: v for k, v in result.items() if not same(v, record[k])}
            results.append(table.packed(changed))
        lines.append(line | {"results": results})
    head = {"options": options, "schemas": table.schemas}
    write(RECORDINGS / f"{name}.jsonl", [head, *lines])


def recordings() -> list[str]:
    """The names of the recordings."""
    return sorted(file.stem for file in RECORDINGS.glob("*.jsonl"))


def declared_options(name: str) -> Mapping[str, Mapping[str, str]]:
    """The options that the classes of a recording declare: their types, by class and option."""
    head = next(_lines(RECORDINGS / f"{name}.jsonl"))
    options: Mapping[str, Mapping[str, str]] = head["options"]
    return options


def cases(name: str) -> Iterator[Case]:
    """The cases of a recording."""
    head, *lines = _lines(RECORDINGS / f"{name}.jsonl")
    table = SchemaTable(head["schemas"])
    for line in lines:
        names = tuple(line["records"])
        results: list[Record | None] = []
        for record_name, result in zip(names, line.get("results", ()), strict=False):
            if result is None or "error" in result:
                results.append(result)
            else:
                results.append(stored_records()[record_name] | table.unpacked(result))
        yield Case(
            name, line["case"], line["properties"], names, tuple(results), line.get("refused")
        )
