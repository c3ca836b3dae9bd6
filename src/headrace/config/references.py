"""References in values: `${env:NAME}`, `${file:path:key}`, `${dir:path:file}`.

They are resolved when a configuration is parsed, and only the reference is ever shown, but for
what a database is asked for by name (its host, users, tables, slots): errors of a database show it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headrace.config.finding import PropertyFinding
from headrace.config.java_properties import decode_properties, parse_properties
from headrace.errors import HeadraceError

_REFERENCE = re.compile(r"\$\{(?P<provider>[A-Za-z][\w-]*):(?P<rest>[^}]*)\}")
_PLAIN = re.compile(r"\$\{[A-Za-z_][\w.]*\}")
_PROVIDERS = ("env", "file", "dir")


def has_reference(text: str) -> bool:
    return _REFERENCE.search(text) is not None


def is_one_reference(text: str) -> bool:
    """Whether `text` is one reference and nothing else, so that it holds no secret itself."""
    return text.strip().startswith("${") and text.strip().find("}") == len(text.strip()) - 1


def has_plain_reference(text: str) -> bool:
    """Whether `text` holds `${NAME}`, which is not a reference here but often meant as one."""
    return _PLAIN.search(text) is not None


def resolve(text: str) -> str:
    """`text` with every reference replaced, once (a resolved value is not looked into).

    Raises ValueError that names the reference and what is missing, never a value.
    """
    return resolve_each(text)[0]


def resolve_each(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """As `resolve`, with each reference and its value."""
    values: list[tuple[str, str]] = []

    def look_up(match: re.Match[str]) -> str:
        values.append((match[0], _look_up(match)))
        return values[-1][1]

    return _REFERENCE.sub(look_up, text), tuple(values)


@dataclass(frozen=True)
class Resolved:
    """A property whose text holds references: its name, its text as written, the references and
    their values. `is_name`: it names objects of the database, which its errors show. `is_secret`:
    nobody shows a part of it."""

    name: str
    text: str
    values: tuple[tuple[str, str], ...]
    is_name: bool = False
    is_secret: bool = False

    def __repr__(self) -> str:
        return f"Resolved({self.name!r}, {self.text!r})"


@dataclass(frozen=True)
class References:
    """The properties that hold references."""

    properties: tuple[Resolved, ...] = ()

    def under(self, prefix: str) -> References:
        """Those whose names begin with `prefix`."""
        return References(tuple(each for each in self.properties if each.name.startswith(prefix)))

    def in_finding(self, finding: PropertyFinding) -> PropertyFinding:
        """The remark with every property as written. Where it shows a part of a reference's value,
        it only says which property is meant."""
        about: list[Resolved] = []
        others: list[Resolved] = []
        for each in self.properties:
            is_own = f"{each.name}.".startswith(f"{finding.property}.")
            (about if is_own else others).append(each)
        message, remedy = (_hidden(each, others) for each in (finding.message, finding.remedy))
        if not any(_shows(each, f"{message} {remedy}", about) for each in about):
            return finding._replace(message=message, remedy=remedy)
        written = " and ".join(f"{each.name} = {each.text!r}" for each in about)
        return finding._replace(
            message=f"{written} is not accepted; the reason is not shown, because it tells a part "
            "of what a reference stands for",
            remedy="Correct what the reference stands for. The reason is shown where the value "
            "itself is written into the property.",
        )

    def in_error(self, text: str) -> str:
        """The message of an error, with references in place of their values, but for names of the
        database's objects. What shows a part of an expression or of SQL is left out."""
        hidden = [each for each in self.properties if not each.is_name]
        text = _hidden(text, hidden)
        if any(not each.is_secret and _shows(each, text, hidden) for each in hidden):
            names = ", ".join(each.name for each in hidden)
            return (
                f"the reason is not shown, because it tells a part of a reference's value ({names})"
            )
        return text


_PART = 4
"""So many characters of a value in a row are a part of it."""


def _hidden(text: str, properties: Iterable[Resolved]) -> str:
    """`text` with references in the place of their values."""
    values = {
        shown: reference
        for each in properties
        for reference, value in each.values
        if value.strip()
        for shown in (value.strip(), repr(value.strip())[1:-1], " ".join(value.split()))
    }
    for value in sorted(values, key=len, reverse=True):
        pattern = re.escape(value)
        if len(value) < _PART:
            pattern = rf"(?<!\w){pattern}(?!\w)"
        text = re.sub(pattern, lambda _, value=value: values[value], text)  # type: ignore[misc]
    return text


def _shows(resolved: Resolved, text: str, properties: Iterable[Resolved]) -> bool:
    """Whether a part of a value is in `text`, other than in names and texts as written."""
    for each in properties:
        for written in (each.text, repr(each.text)[1:-1], each.name):
            text = text.replace(written, "\0")
        for reference, _ in each.values:
            text = text.replace(reference, "\0")
    # A shorter value is hidden as a word; letters of it are in most words.
    return any(
        value[start : start + _PART] in text
        for _, value in resolved.values
        for start in range(len(value) - _PART + 1)
        if value[start : start + _PART].strip()
    )


def _look_up(match: re.Match[str]) -> str:
    reference, rest = match[0], match["rest"]
    match match["provider"]:
        case "env":
            value = os.environ.get(rest)
            if value is None:
                raise ValueError(f"{reference}: the environment variable {rest} is not set")
            return value
        case "file":
            return _read_key(reference, rest)
        case "dir":
            return _read_file(reference, rest)
    # The reference is not shown: it may be part of a password that only looks like one.
    raise ValueError(
        f"it holds a reference to an unknown provider; the providers are {', '.join(_PROVIDERS)}"
    )


def _read_key(reference: str, rest: str) -> str:
    path, colon, key = rest.rpartition(":")
    if not colon or not path or not key:
        raise ValueError(f"{reference} is not of the form ${{file:path:key}}")
    try:
        entries = parse_properties(decode_properties(Path(path).read_bytes()))
    except OSError as error:
        raise ValueError(f"{reference}: the file cannot be read ({error.strerror})") from None
    except HeadraceError:
        raise ValueError(f"{reference}: the file is not in Java properties format") from None
    values = [entry.value for entry in entries if entry.key == key]
    if not values:
        raise ValueError(f"{reference}: the file has no key {key}")
    return values[-1]


def _read_file(reference: str, rest: str) -> str:
    folder, colon, name = rest.rpartition(":")
    if not colon or not folder or not name or "/" in name or "\\" in name or name in (".", ".."):
        raise ValueError(f"{reference} is not of the form ${{dir:path:file}}")
    try:
        text = (Path(folder) / name).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{reference}: the file cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError(f"{reference}: the file is not UTF-8 text") from None
    # Editors end a file with a line end that is not part of the value.
    return text.removesuffix("\n").removesuffix("\r")
