"""Columns of documents, as options of the sink declare them.

`target.schema.NAME` declares the columns that replace the text of a document, `promoted.keys.NAME`
those that are added to it. NAME is the name of a collection in its topic, without topic.prefix; `*`
in it stands for any characters. Importing this loads no compiled code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations, permutations

from headrace.connect.schema import Field, Schema, Type
from headrace.documents.target_schema.ddl import JSON, ddl, declared
from headrace.documents.target_schema.policies import UnknownFields
from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import is_own

ID, DOCUMENT = "_id", "document"
"""Columns of documents: the key, and the text of the document."""
_TARGET_SCHEMA, _PROMOTED_KEYS, _UNKNOWN = "target.schema.", "promoted.keys.", "unknown.fields"
OPTIONS = (f"{_TARGET_SCHEMA}*", f"{_PROMOTED_KEYS}*", _UNKNOWN)
"""The names of the options, without `headrace.sink.`."""
_NESTED = (Type.STRUCT, Type.ARRAY, Type.MAP)
_ANY = "*"


@dataclass(frozen=True)
class DocumentColumns:
    """The columns of a collection's documents: `declared` is a struct, with `_id` or without it.
    `option` is the name of the option, for messages; `has_text`: the columns are added to the text
    of the document. `unknown` says how fields that the struct lacks are handled."""

    option: str
    declared: Schema
    has_text: bool = False
    unknown: UnknownFields = UnknownFields.DROP

    @property
    def id_schema(self) -> Schema | None:
        """The schema of `_id`; None: the column is the text of the key."""
        return next((column.schema for column in self.declared.fields if column.name == ID), None)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The declared fields without `_id`."""
        return tuple(column for column in self.declared.fields if column.name != ID)


@dataclass(frozen=True)
class DeclaredDocuments:
    """The declarations of the options, by the names of collections and patterns of names."""

    by_name: Mapping[str, DocumentColumns] = field(default_factory=dict)

    @staticmethod
    def of(options: Mapping[str, str]) -> DeclaredDocuments:
        """Parse options without `headrace.sink.`. Raises
        HeadraceError("replicas.option_invalid")."""
        unknown = _unknown_fields(options.get(_UNKNOWN, UnknownFields.DROP))
        by_name: dict[str, DocumentColumns] = {}
        for option, text in options.items():
            if option.startswith(_TARGET_SCHEMA):
                name = option.removeprefix(_TARGET_SCHEMA)
                columns = DocumentColumns(option, _in_place(option, text), unknown=unknown)
            elif option.startswith(_PROMOTED_KEYS):
                name = option.removeprefix(_PROMOTED_KEYS)
                columns = DocumentColumns(option, _declared(option, text), has_text=True)
            else:
                continue
            if not name:
                raise _wrong(option, "the option names no collection", _NAME)
            if name in by_name:
                raise _wrong(option, f"{_named(by_name[name].option)} is there, too", _ONE)
            _check(columns)
            by_name[name] = columns
        for first, second in permutations(by_name, 2):
            if _ANY in first and _matches(second, first):
                raise _wrong(
                    by_name[first].option,
                    f"{_named(by_name[second].option)} names all of them, too",
                    _ONE,
                )
        return DeclaredDocuments(by_name)

    def __bool__(self) -> bool:
        return bool(self.by_name)

    def of_topic(self, topic: str, prefix: str) -> DocumentColumns | None:
        """Return the declaration for the documents of a topic, or None. `prefix` is topic.prefix.
        Raises HeadraceError("replicas.option_invalid") if several patterns match the topic."""
        name = topic.removeprefix(f"{prefix}.")
        if name in self.by_name:
            return self.by_name[name]
        matching = [columns for pattern, columns in self.by_name.items() if _matches(pattern, name)]
        if len(matching) > 1:
            others = " and ".join(_named(columns.option) for columns in matching[1:])
            raise _wrong(
                matching[0].option, f"{others} name {name}, too", f"{_ONE[:-1]} for {name}."
            )
        return matching[0] if matching else None

    def overlapping(self) -> list[HeadraceError]:
        """Return a warning for each two patterns that could match the same collection."""
        patterns = [pattern for pattern in self.by_name if _ANY in pattern]
        named = {pattern: _named(self.by_name[pattern].option) for pattern in patterns}
        return [
            HeadraceError(
                "replicas.patterns_overlap",
                f"{named[first]} and {named[second]} could name one collection, whose table would "
                "stop",
                "Write patterns that name no collection together, or names without `*`, which go "
                "first.",
            )
            for first, second in combinations(patterns, 2)
            if _overlap(first, second)
        ]

    def unused(self, topics: Iterable[str], prefix: str) -> list[str]:
        """Return the options, with `headrace.sink.`, that match the collections of none of these
        topics."""
        names = [topic.removeprefix(f"{prefix}.") for topic in topics]
        return [
            _named(columns.option)
            for pattern, columns in self.by_name.items()
            if not any(name == pattern or _matches(pattern, name) for name in names)
        ]


def form_of(schema: Schema) -> str:
    """Return the form of a column's values if their type does not tell it: texts of VARIANT differ
    from those of STRING. Empty: no VARIANT in it."""
    return ddl(Schema(Type.STRUCT, fields=(Field("_", schema),))) if _has_json(schema) else ""


def _has_json(schema: Schema) -> bool:
    inner = [*(member.schema for member in schema.fields), *filter(None, (schema.values,))]
    return schema.name == JSON or any(map(_has_json, inner))


def _in_place(option: str, text: str) -> Schema:
    schema = _declared(option, text)
    if all(column.name != ID for column in schema.fields):
        raise _wrong(
            option,
            "the columns lack _id, which is the key",
            "Declare it, as `_id STRING` for texts and ObjectIds, or `_id VARIANT` for values of "
            "any types.",
        )
    return schema


def _declared(option: str, text: str) -> Schema:
    try:
        return declared(text)
    except HeadraceError as error:
        raise _wrong(option, error.message, error.remedy) from None


def _check(columns: DocumentColumns) -> None:
    """Refuse an `_id` that cannot be a key, and names that a table cannot have."""
    option, id_schema = columns.option, columns.id_schema
    if id_schema is not None and id_schema.type in _NESTED:
        raise _wrong(
            option,
            "_id is declared with parts, which no key has",
            "Declare `_id VARIANT`, which is its Extended JSON.",
        )
    folded = {ID: ID} | ({DOCUMENT: DOCUMENT} if columns.has_text else {})
    for inner in map(_alike, (column.schema for column in columns.fields)):
        if inner:
            raise _wrong(
                option,
                f"the members {inner[0]} and {inner[1]} of a struct have one name for a table",
                "Rename the field at the source, or leave one of them out.",
            )
    for name in (column.name for column in columns.fields):
        other = folded.setdefault(name.casefold(), name)
        if other != name or (columns.has_text and name == DOCUMENT):
            raise _wrong(
                option,
                f"the columns {other} and {name} have one name for a table",
                "Rename the field at the source or by field.renames, or leave it out.",
            )
        if is_own(name):
            raise _wrong(option, f"headrace has columns called {name}", "Leave it out.")


def _alike(schema: Schema) -> tuple[str, str] | None:
    """Return two members of a struct within a type whose names differ in case only, or None."""
    folded: dict[str, str] = {}
    for member in schema.fields:
        other = folded.setdefault(member.name.casefold(), member.name)
        if other != member.name:
            return other, member.name
    inner = (
        *(member.schema for member in schema.fields),
        *filter(None, (schema.keys, schema.values)),
    )
    return next(filter(None, map(_alike, inner)), None)


def _unknown_fields(text: str) -> UnknownFields:
    word = text.strip().lower()
    if word not in list(UnknownFields):
        choice = f"Set it to {' or '.join(UnknownFields)}."
        raise _wrong(_UNKNOWN, f"{text} is not a valid value", choice)
    return UnknownFields(word)


def _matches(pattern: str, name: str) -> bool:
    parts = map(re.escape, pattern.split(_ANY))
    return _ANY in pattern and re.fullmatch(".*".join(parts), name) is not None


def _overlap(first: str, second: str) -> bool:
    """Return whether some text matches both patterns."""

    @cache
    def meet(i: int, j: int) -> bool:
        rest, of_other = first[i : i + 1], second[j : j + 1]
        if rest == _ANY:
            return meet(i + 1, j) or (bool(of_other) and meet(i, j + 1))
        if of_other == _ANY:
            return meet(i, j + 1) or (bool(rest) and meet(i + 1, j))
        return rest == of_other and (not rest or meet(i + 1, j + 1))

    return meet(0, 0)


def _named(option: str) -> str:
    return f"headrace.sink.{option}"


_ONE = "Set one of them."
_NAME = "Write the name of a collection, or a pattern, after the option: target.schema.shop.orders."


def _wrong(option: str, reason: str, remedy: str) -> HeadraceError:
    return HeadraceError("replicas.option_invalid", f"{_named(option)}: {reason}", remedy)
