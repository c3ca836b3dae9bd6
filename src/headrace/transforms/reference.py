"""The reference page of transforms and predicates, from their declarations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headrace.config.describe import describe_rows
from headrace.transforms.example import Example
from headrace.transforms.json_form import apply_json
from headrace.transforms.registry import predicates, short_name, transforms
from headrace.transforms.transform import Declaration

_HEAD = """# Transforms and predicates

Generated from the declarations by `headrace describe transforms --markdown`.

A transform is chosen by its class, or by its short name, the part behind the last dot:

```properties
transforms=unwrap
transforms.unwrap.type=io.debezium.transforms.ExtractNewRecordState
transforms.unwrap.add.fields=op
transforms.unwrap.predicate=orders
predicates=orders
predicates.orders.type=TopicNameMatches
predicates.orders.pattern=.*orders
```

Transforms run in the order of `transforms`. One with a `predicate` passes the records for which it
is false as they are; `negate=true` turns that round. `headrace transform FILE < records.jsonl`
shows what a chain makes of records; [Adding a transform](../adding-a-transform.md) tells how to
write one. Expressions are those of Java and match whole names, in their case.
"""

_PREDICATES = """## Predicates

Each example leaves out the records for which its predicate is true.
"""


def reference() -> str:
    """The page."""
    parts = [_HEAD, *_sections(transforms(), "##"), _PREDICATES, *_sections(predicates(), "###")]
    return "\n".join(parts)


def _sections(declared: Iterable[tuple[str, Declaration[Any]]], mark: str) -> Iterator[str]:
    """A section each; the classes of one name for keys and values share one."""
    by_name: dict[str, list[tuple[str, Declaration[Any]]]] = {}
    for java_class, declaration in declared:
        name = short_name(java_class).partition("$")[0]
        by_name.setdefault(name, []).append((java_class, declaration))
    for name, entries in by_name.items():
        yield f"{mark} {name}\n"
        _, declaration = entries[0]
        classes = ", ".join(f"`{java_class}`" for java_class, _ in entries)
        yield f"{declaration.meaning} Class: {classes}.\n"
        yield from _options(declaration)
        for java_class, each in entries:
            yield from _example(java_class, each)


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
    given = properties(example, java_class).items()
    blocks = {
        "properties": "\n".join(f"{name}={text}" for name, text in given if "." in name),
        "yaml": shown(example.record()),
    }
    for language, text in blocks.items():
        yield f"```{language}\n{text}\n```\n"
    yield f"becomes\n\n```yaml\n{shown(behind(example, java_class))}\n```\n"


def properties(example: Example, java_class: str) -> dict[str, str]:
    """Those of a transform with the example's options; a predicate decides what Kafka's Filter
    leaves out."""
    name = short_name(java_class)
    is_predicate = java_class in dict(predicates())
    own = "predicates.p." if is_predicate else "transforms.t."
    chain = {"transforms": "t"}
    if is_predicate:
        chain |= {
            "transforms.t.type": "KafkaFilter",
            "transforms.t.predicate": "p",
            "predicates": "p",
        }
    options = {f"{own}{option}": text for option, text in example.options.items()}
    return {**chain, f"{own}type": name, **options}


def behind(example: Example, java_class: str) -> dict[str, Any] | None:
    """The example's record behind the transform of this class, or behind one with this predicate;
    None: it is left out."""
    return apply_json(properties(example, java_class), [example.record()])[0]


def shown(record: Mapping[str, Any] | None) -> str:
    """A record as the reference shows it: what it has, without most of its schemas."""
    if record is None:
        return "left out"
    lines = {name: record.get(name) for name in ("topic", "partition", "timestamp")}
    for part in ("key", "value"):
        if record.get(part) is None:
            lines[part] = None
            continue
        lines[part] = record[part]["payload"]
        lines[f"{part} schema"] = record[part]["schema"].get("name")
    if record["value"] is None:
        lines["value"] = "null"
    lines["headers"] = {each["name"]: each["payload"] for each in record["headers"]} or None
    return "\n".join(
        f"{name}: {text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)}"
        for name, text in lines.items()
        if text is not None
    )
