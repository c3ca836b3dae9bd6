"""Column rules: the properties `column.truncate…`, `column.mask…` and `….propagate.source.type`.

Only one rule applies to a column: the first that names it, in the order truncate, mask, hash,
propagate. (Debezium checks for hashes last, so that propagating a column's type would show its
hashed values.)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, partial

from headrace.debezium.naming.expressions import WholeMatch


@dataclass(frozen=True)
class Truncate:
    """Cuts texts to `length` UTF-16 code units and bytes to `length` bytes."""

    length: int


@dataclass(frozen=True)
class Mask:
    """Replaces texts and nulls by `length` asterisks."""

    length: int


@dataclass(frozen=True)
class Hash:
    """Replaces texts by the hexadecimal digest of salt and text.

    `algorithm` is hashlib's name. Version 1 hashes the output of Java's ObjectOutputStream for the
    string, version 2 its UTF-8 bytes.
    """

    algorithm: str
    salt: str = field(repr=False)
    version: int = 2

    def digest(self, text: str) -> str:
        """The digest of a text, lower-case."""
        return self.digest_of(text.encode() if self.version == 2 else java_serialized(text))

    def digest_of(self, raw: bytes) -> str:
        """Return the digest of the text in the bytes that the version hashes."""
        return _function(self.algorithm)(self.salt.encode() + raw).hexdigest()


@cache
def _function(algorithm: str) -> Callable[[bytes], hashlib._Hash]:
    """The hash function itself, cached: looking it up by name takes longer than hashing."""
    direct = getattr(hashlib, algorithm, None)
    if direct is None:
        return partial(hashlib.new, algorithm, usedforsecurity=False)
    return partial(direct, usedforsecurity=False)


@dataclass(frozen=True)
class Propagate:
    """Adds the column's type in the database to the parameters of its schema."""


ColumnRule = Truncate | Mask | Hash | Propagate


@dataclass(frozen=True)
class ColumnRules:
    """Rules in order of precedence, each with a predicate over column and type names."""

    rules: tuple[tuple[Callable[[str, str], bool], ColumnRule], ...] = ()

    def rule_for(self, column: str, type_name: str) -> ColumnRule | None:
        """The rule of `schema.table.column`, whose type is `schema.table.type`."""
        return next((rule for matches, rule in self.rules if matches(column, type_name)), None)


def by_column(patterns: Iterable[WholeMatch]) -> Callable[[str, str], bool]:
    """Matches a column by its whole name."""
    compiled = tuple(patterns)
    return lambda column, _type: any(pattern.fullmatch(column) for pattern in compiled)


def by_type(patterns: Iterable[WholeMatch]) -> Callable[[str, str], bool]:
    """Matches a column by its type."""
    compiled = tuple(patterns)
    return lambda _column, name: any(pattern.fullmatch(name) for pattern in compiled)


_JAVA_NAMES = {"sha": "sha1", "md5": "md5"}


def hash_algorithm(java_name: str) -> str | None:
    """hashlib's name of a MessageDigest algorithm (`SHA-256`, `SHA3-256`, `SHA-512/256`); None if
    Python does not have it."""
    name = java_name.lower()
    name = _JAVA_NAMES.get(name) or re.sub(r"^sha-?(\d+)", r"sha\1", name)
    name = re.sub(r"^sha3-(\d+)$", r"sha3_\1", re.sub(r"^sha512/", "sha512_", name))
    try:
        return None if hashlib.new(name, usedforsecurity=False).digest_size == 0 else name
    except ValueError:
        return None


_BEYOND_BASIC_PLANE = re.compile("[\U00010000-\U0010ffff]")


def java_serialized(text: str) -> bytes:
    """The bytes that Java's ObjectOutputStream writes for a string."""

    def surrogates(match: re.Match[str]) -> str:
        offset = ord(match[0]) - 0x10000
        return chr(0xD800 + (offset >> 10)) + chr(0xDC00 + (offset & 0x3FF))

    modified = _BEYOND_BASIC_PLANE.sub(surrogates, text).encode("utf-8", "surrogatepass")
    modified = modified.replace(b"\0", b"\xc0\x80")
    if len(modified) < 1 << 16:
        length = b"t" + len(modified).to_bytes(2, "big")
    else:
        length = b"|" + len(modified).to_bytes(8, "big")
    return b"\xac\xed\x00\x05" + length + modified


def truncated(text: str, length: int) -> str:
    """The first `length` UTF-16 code units; a surrogate pair is never split."""
    if len(text) <= length // 2:
        return text
    units = 0
    for index, character in enumerate(text):
        units += 2 if character > "\uffff" else 1
        if units > length:
            return text[:index]
    return text
