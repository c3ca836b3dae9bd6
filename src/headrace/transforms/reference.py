"""Generates the reference pages of transforms and predicates from their declarations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from headrace.config.describe import Row, describe_rows
from headrace.transforms.example import Example
from headrace.transforms.json_form import apply_json
from headrace.transforms.registry import (
    added_transforms,
    find_transform,
    predicates,
    short_name,
    transforms,
)
from headrace.transforms.transform import Declaration

_HEAD = """# Transforms and predicates

Generated from the declarations by `headrace describe transforms --markdown`.

A transform is chosen by its class, or by its short name, the part after the last dot:

```properties
transforms=unwrap
transforms.unwrap.type=io.debezium.transforms.ExtractNewRecordState
transforms.unwrap.add.fields=op
transforms.unwrap.predicate=orders
predicates=orders
predicates.orders.type=TopicNameMatches
predicates.orders.pattern=.*orders
```

Transforms run in the order of `transforms`. A transform with a `predicate` applies only to records
for which the predicate is true, or with `negate=true` only to the others; it passes the remaining
records unchanged. `headrace transform FILE < records.jsonl` shows the result of a chain. [Adding a
transform](../adding-a-transform.md) describes how to write one. Expressions are those of Java,
match whole names, and are case-sensitive.
"""

_PREDICATES = """## Predicates

Each example leaves out the records for which its predicate is true.
"""

_PREDICATES_GROUP = "predicates"
_Entry = tuple[str, Declaration[Any]]


def index() -> str:
    """Return the index page of all transforms and predicates, with a link to the page of each."""
    parts = [_HEAD]
    parts += _table("Transforms", transforms())
    parts += [_PREDICATES, *_table("Predicates", predicates())]
    parts += _table_of_added()
    return "\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """Return the page of each transform and predicate, by its path relative to the index."""
    return {path: _page(name, entries) for path, name, entries in _listed()}


def page_of(name: str) -> str:
    """Return the page of a transform or predicate by its class or short name, or of a transform of
    another package or module by its type. Raises HeadraceError as `find_transform`."""
    listed = _find_listed(name)
    return _page_of_added(name, find_transform(name)) if listed is None else _page(*listed)


def require_known(name: str) -> None:
    """Raise HeadraceError as `find_transform` if no transform or predicate has the name."""
    if _find_listed(name) is None:
        find_transform(name)


def _find_listed(name: str) -> tuple[str, list[_Entry]] | None:
    for _, short, entries in _listed():
        if name.partition("$")[0] == short or name in (java_class for java_class, _ in entries):
            return short, entries
    return None


def short_names() -> dict[str, str]:
    """Return the names of pages by their lower case."""
    return {name.lower(): name for _, name, _ in _listed()}


@cache
def options_of_all() -> dict[str, list[Row]]:
    """Return the options of each transform and predicate, by its short name, then those of other
    packages' transforms."""
    declared = {name: entries[0][1] for _, name, entries in _listed()} | dict(added_transforms())
    return {name: describe_rows(declaration.options) for name, declaration in declared.items()}


def _listed() -> Iterator[tuple[str, str, list[_Entry]]]:
    """Yield path, name and declarations of each page; classes with the same name for keys and
    values share a page."""
    by_name: dict[str, list[_Entry]] = {}
    declared: list[_Entry] = [*transforms(), *predicates()]
    for java_class, declaration in declared:
        name = short_name(java_class).partition("$")[0]
        by_name.setdefault(name, []).append((java_class, declaration))
    for name, entries in by_name.items():
        yield f"transforms/{_group(entries[0][0])}/{name}.md", name, entries


def _group(java_class: str) -> str:
    """Return the folder of a page: the owner of the class, or its connector."""
    parts = java_class.split(".")
    if _PREDICATES_GROUP in parts:
        return _PREDICATES_GROUP
    if "connector" in parts:
        return parts[parts.index("connector") + 1]
    return "kafka" if "kafka" in parts else "debezium"


def _table(head: str, declared: Iterable[_Entry]) -> Iterator[str]:
    names = {short_name(java_class).partition("$")[0] for java_class, _ in declared}
    yield f"| {head} | Origin | |\n|---|---|---|"
    for path, name, entries in _listed():
        if name in names:
            meaning = entries[0][1].meaning.replace("|", "\\|")
            yield f"| [{name}]({path}) | {_group(entries[0][0])} | {meaning} |"
    yield ""


def _table_of_added() -> Iterator[str]:
    rows = [f"| {name} | {_cell(declared.meaning)} |" for name, declared in added_transforms()]
    if rows:
        yield "| Transforms of other packages | |\n|---|---|"
        yield from (*rows, "")


def _cell(text: str) -> str:
    """Return a text of another package as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _page_of_added(name: str, declaration: Declaration[Any]) -> str:
    parts = [f"# {name}\n", f"{declaration.meaning}\n"]
    options = [*_options(declaration)]
    if options:
        parts += ["## Options\n", *options]
    if declaration.example is not None:
        parts += ["## Example\n", *_example(name, declaration)]
    return "\n".join(parts)


def _page(name: str, entries: list[_Entry]) -> str:
    _, declaration = entries[0]
    classes = ", ".join(f"`{java_class}`" for java_class, _ in entries)
    parts = [
        f"# {name}\n",
        "Generated from the declaration by `headrace describe transforms --pages FOLDER`.\n",
        f"{declaration.meaning} {'Class' if len(entries) == 1 else 'Classes'}: {classes}. "
        "[All transforms and predicates](../../transforms.md).\n",
    ]
    options = [*_options(declaration)]
    if options:
        parts += ["## Options\n", *options]
    parts.append("## Example\n")
    for java_class, declared in entries:
        parts += _example(java_class, declared)
    return "\n".join(parts)


def _options(declaration: Declaration[Any]) -> Iterator[str]:
    rows = describe_rows(declaration.options)
    if not rows:
        return
    yield "| Option | Default | Values | Meaning |\n|---|---|---|---|"
    for row in rows:
        default = "*required*" if row.default == "required" else row.default and f"`{row.default}`"
        cells = (f"`{row.name}`", default, row.values, row.meaning)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    yield ""


def _example(java_class: str, declaration: Declaration[Any]) -> Iterator[str]:
    example = declaration.example
    if example is None:
        return
    example_properties = properties(example, java_class).items()
    blocks = {
        "properties": "\n".join(f"{name}={text}" for name, text in example_properties),
        "yaml": shown(example.record()),
    }
    for language, text in blocks.items():
        yield f"```{language}\n{text}\n```\n"
    yield f"becomes\n\n```yaml\n{shown(transformed(example, java_class))}\n```\n"


def properties(example: Example, java_class: str) -> dict[str, str]:
    """Return the properties of a transform (by its class, or the type of another package's) with
    the example's options; those of a predicate select the records that Kafka's Filter drops."""
    is_predicate = java_class in dict(predicates())
    is_built_in = is_predicate or java_class in dict(transforms())
    name = short_name(java_class) if is_built_in else java_class
    prefix = "predicates.p." if is_predicate else "transforms.t."
    chain = {"transforms": "t"}
    if is_predicate:
        chain |= {
            "transforms.t.type": "org.apache.kafka.connect.transforms.Filter",
            "transforms.t.predicate": "p",
            "predicates": "p",
        }
    options = {f"{prefix}{option}": text for option, text in example.options.items()}
    return {**chain, f"{prefix}type": name, **options}


def transformed(example: Example, java_class: str) -> dict[str, Any] | None:
    """Return the example's record after the transform of this class, or after Filter with this
    predicate; None if it is dropped."""
    return apply_json(properties(example, java_class), [example.record()])[0]


def shown(record: Mapping[str, Any] | None) -> str:
    """Return a record as the reference shows it: its contents, without most schemas."""
    if record is None:
        return "# The record is left out."
    lines = {name: record.get(name) for name in ("topic", "partition", "timestamp")}
    for part in ("key", "value"):
        if record.get(part) is None:
            lines[part] = None
            continue
        lines[part] = record[part]["payload"]
        lines[f"{part} schema"] = record[part]["schema"].get("name")
    if record["value"] is None:
        lines["value"] = "null"
    lines["headers"] = {header["name"]: header["payload"] for header in record["headers"]} or None
    return "\n".join(
        f"{name}: {text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)}"
        for name, text in lines.items()
        if text is not None
    )
