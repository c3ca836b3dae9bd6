"""Blocks of pages that are made of recordings, measurements and files:
`python -m tests.docs.generated.blocks` writes them, and `make docs` runs it.

A comment before a block or a table says what it has: its first word is the name of a function here,
and the others are its arguments.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.docs.generated.layout import layout
from tests.docs.generated.measurements import measured
from tests.docs.pages import ROOT, pages
from tests.golden.transforms.cases import Case, cases, stored_records

MARKED = re.compile(
    r"^<!-- (\w+): ([^\n]*) -->\n(?:```\w+\n.*?^```$\n|\n(?:\|[^\n]*\n)+)?", re.M | re.S
)
"""A comment, and the block or the table that belongs to it."""
CONTEXT = "__debezium.context."
LANGUAGES = {
    ".py": "python",
    ".properties": "properties",
    ".sql": "sql",
    ".js": "js",
    ".yml": "yaml",
}


def recorded(workload: str, line: str, part: str = "", *items: str) -> str:
    """A record of a workload (`postgresql/basics 4`), without the headers that every record has, or
    a part of it (`value.source`). Each of the items is a path below the part, or several with
    commas between them, and gets the next number."""
    value = at(record(workload, line), part)
    if not part:
        value["headers"] = {
            name: text for name, text in value["headers"].items() if CONTEXT not in name
        }
        if not value["headers"]:
            del value["headers"]
    numbers = {
        tuple(path.split(".")): number
        for number, item in enumerate(items, 1)
        for path in item.split(",")
    }
    for path in numbers:
        at(value, ".".join(path))
    return _fenced("json5" if items else "json", layout(value, numbers))


def compared(part: str, workload: str, line: str, former: str, former_line: str) -> str:
    """A table of the members of two records: those of the current format and those of an older
    one."""
    now, then = (
        _members(at(record(*each), part)) for each in ((workload, line), (former, former_line))
    )
    names = [*now, *(name for name in then if name not in now)]
    rows = [f"| `{name}` | {_cell(now, name)} | {_cell(then, name)} |" for name in names]
    return "\n".join(["", "| member | current | `2.5` |", "|---|---|---|", *rows, ""])


def keys(workload: str, *lines: str) -> str:
    """A table of the documents of some records, and of their keys."""
    head = ["| document | key |", "|---|---|"]
    rows = []
    for line in lines:
        event = record(workload, line)
        rows.append(f"| `{event['value']['after']}` | `{json.dumps(event['key'])}` |")
    return "\n".join(["", *head, *rows, ""])


def given(name: str) -> str:
    """A record that the recordings of transforms begin with."""
    return _fenced("json", layout(_without_schemas(stored_records()[name])))


def result(transform: str, case: str, name: str) -> str:
    """What a transform made of a record."""
    outcome = _result(_case(transform, case), name)
    assert outcome is not None, "the record is left out"
    return _fenced("json", layout(_without_schemas(outcome)))


def results(transform: str, option: str, *labelled: str) -> str:
    """A table of the values that each value of an option makes of records, each of which is given
    as `heading=name`."""
    records = dict(each.split("=") for each in labelled)
    head = f"| {' | '.join([f'`{option}`', *records])} |"
    rows = [
        f"| `{case.name.removeprefix(option)[1:]}` | {' | '.join(values)} |"
        for case in cases(transform)
        if case.name.startswith(f"{option}=") and case.refused is None
        for values in [[_shown(case, name) for name in records.values()]]
    ]
    assert rows, f"no case of {transform} sets {option}"
    return "\n".join(["", head, "|---" * (len(records) + 1) + "|", *rows, ""])


def file(path: str) -> str:
    """A file of the repository."""
    return _fenced(LANGUAGES[Path(path).suffix], (ROOT / path).read_text().rstrip("\n"))


WRITERS: Mapping[str, Callable[..., str]] = {
    writer.__name__: writer
    for writer in (recorded, compared, keys, given, result, results, measured, file)
}


def written(text: str) -> str:
    """The text of a page with its blocks as they have to be. Raises KeyError for a comment that
    names no function."""

    def block(match: re.Match[str]) -> str:
        arguments = shlex.split(match[2])
        return f"<!-- {match[1]}: {match[2]} -->\n{WRITERS[match[1]](*arguments)}"

    return MARKED.sub(block, text)


def record(workload: str, line: str) -> dict[str, Any]:
    """A recorded record."""
    database, name = workload.split("/")
    recording = ROOT / "tests/golden" / database / "recordings" / f"{name}.jsonl"
    read: dict[str, Any] = json.loads(recording.read_text().splitlines()[int(line) - 1])
    headers = read.pop("headers")
    return {"topic": read.pop("topic"), "key": read.pop("key"), "headers": headers, **read}


def at(value: Any, path: str) -> Any:
    """The member at a path; the value itself for the empty one. Raises KeyError or IndexError."""
    for name in path.split(".") if path else ():
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def _members(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The members of an envelope and of its source block, by their paths."""
    members: dict[str, Any] = {}
    for name, member in value.items():
        if name == "source":
            members |= _members(member, "source.")
        elif name not in ("before", "after", "updateDescription", "message"):
            members[prefix + name] = member
    return members


def _cell(members: Mapping[str, Any], name: str) -> str:
    return f"`{json.dumps(members[name], ensure_ascii=False)}`" if name in members else "missing"


def _case(transform: str, name: str) -> Case:
    return next(case for case in cases(transform) if case.name == name)


def _result(case: Case, name: str) -> dict[str, Any] | None:
    return case.results[case.record_names.index(name)]


def _shown(case: Case, name: str) -> str:
    outcome = _result(case, name)
    if outcome is None:
        return "left out"
    return f"`{json.dumps(_without_schemas(outcome)['value'], ensure_ascii=False)}`"


def _without_schemas(record: Mapping[str, Any]) -> dict[str, Any]:
    payloads = {
        name: None if record[name] is None else record[name]["payload"] for name in ("key", "value")
    }
    headers = {header["name"]: header["payload"] for header in record["headers"]}
    plain_record = {"topic": record["topic"], "key": payloads["key"]}
    return plain_record | ({"headers": headers} if headers else {}) | {"value": payloads["value"]}


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```\n"


if __name__ == "__main__":
    for page in map(ROOT.joinpath, pages()):
        before = page.read_text()
        if (after := written(before)) != before:
            page.write_text(after)
