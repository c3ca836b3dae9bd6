"""References in values: `${env:NAME}`, `${file:path:key}`, `${dir:path:file}`.

They are resolved when a configuration is parsed; those of secrets to files are resolved again at
each use (`credentials.rotating`). Messages show the reference, never its value, except for names in
a database (its host, users, tables, slots), which errors of the database show.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from headrace.config.java_properties import decode_properties, parse_properties
from headrace.errors import HeadraceError

_REFERENCE = re.compile(r"\$\{(?P<provider>[A-Za-z][\w-]*):(?P<rest>[^}]*)\}")
_PLAIN = re.compile(r"\$\{[A-Za-z_][\w.]*\}")
_PROVIDERS = ("env", "file", "dir")
_OF_FILES = ("file", "dir")
"""Providers whose values may change while a process runs."""


def has_reference(text: str) -> bool:
    return _REFERENCE.search(text) is not None


def is_one_reference(text: str) -> bool:
    """Return whether `text` is exactly one reference, so that it contains no secret itself."""
    return text.strip().startswith("${") and text.strip().find("}") == len(text.strip()) - 1


def has_plain_reference(text: str) -> bool:
    """Return whether `text` contains `${NAME}`, which is not a reference here but is often meant as
    one."""
    return _PLAIN.search(text) is not None


def resolve(text: str) -> str:
    """Return `text` with every reference replaced, once (values are not resolved again).

    Raises ValueError that names the reference and what is missing, never a value.
    """
    return resolve_each(text)[0]


def resolve_each(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the text as `resolve` does, with each reference and its value."""
    values: list[tuple[str, str]] = []

    def look_up(match: re.Match[str]) -> str:
        values.append((match[0], _look_up(match)))
        return values[-1][1]

    return _REFERENCE.sub(look_up, text), tuple(values)


def parts_of(text: str) -> tuple[tuple[bool, str], ...]:
    """Return the text in parts: references to files (True), and texts between them (False), in
    which other references are resolved. Raises ValueError as `resolve`."""
    parts: list[tuple[bool, str]] = []
    end = 0
    for match in _REFERENCE.finditer(text):
        parts.append((False, text[end : match.start()]))
        is_file = match["provider"] in _OF_FILES
        parts.append((True, match[0]) if is_file else (False, _look_up(match)))
        end = match.end()
    return tuple(part for part in (*parts, (False, text[end:])) if part[1])


def look_up_each(
    parts: Sequence[tuple[bool, str]],
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Resolve a text in parts of `parts_of`; return it as `resolve_each` does."""
    resolved = [resolve(text) if is_reference else text for is_reference, text in parts]
    pairs = tuple(
        (text, value)
        for (is_reference, text), value in zip(parts, resolved, strict=True)
        if is_reference
    )
    return "".join(resolved), pairs


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
    # The text is not shown: it may be part of a password that only looks like a reference.
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
