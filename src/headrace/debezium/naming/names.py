"""`schema.name.adjustment.mode` and `field.name.adjustment.mode`: names that Avro accepts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class NameAdjustmentMode(StrEnum):
    """Replacement of characters that Avro does not accept."""

    NONE = "none"
    AVRO = "avro"  # an underscore
    AVRO_UNICODE = "avro_unicode"  # _uXXXX; underscores too, so that names can be read back


_SCHEMA = re.compile(r"^[^A-Za-z_]|(?!^)[^A-Za-z0-9_.]")
_SCHEMA_UNICODE = re.compile(r"^[^A-Za-z]|(?!^)[^A-Za-z0-9.]")
_FIELD = re.compile(r"^[^A-Za-z_]|(?!^)[^A-Za-z0-9_]")
_FIELD_UNICODE = re.compile(r"^[^A-Za-z]|(?!^)[^A-Za-z0-9]")


def unicode_escaped(forbidden: re.Pattern[str], name: str) -> str:
    """`name` with `_uXXXX` in place of forbidden characters, one per UTF-16 code unit."""

    def escape(match: re.Match[str]) -> str:
        raw = match[0].encode("utf-16-be", "surrogatepass")
        return "".join(f"_u{raw[i : i + 2].hex()}" for i in range(0, len(raw), 2))

    return forbidden.sub(escape, name)


def _adjusted(
    mode: NameAdjustmentMode, name: str, plain: re.Pattern[str], unicode: re.Pattern[str]
) -> str:
    if mode is NameAdjustmentMode.AVRO:
        if name[:1].isascii() and name[:1].isdigit():
            name = "_" + name  # a leading digit is kept
        # Java counts UTF-16 code units.
        return plain.sub(lambda m: "_" * (1 + (ord(m[0]) > 0xFFFF)), name)
    if mode is NameAdjustmentMode.AVRO_UNICODE:
        return unicode_escaped(unicode, name)
    return name


@dataclass(frozen=True)
class NameAdjustment:
    """The two modes of a connector: for names of schemas and of fields."""

    schemas: NameAdjustmentMode = NameAdjustmentMode.NONE
    fields: NameAdjustmentMode = NameAdjustmentMode.NONE

    def schema(self, name: str) -> str:
        """Return a schema's adjusted full name; dots separate its parts."""
        return _adjusted(self.schemas, name, _SCHEMA, _SCHEMA_UNICODE)

    def field(self, name: str) -> str:
        """Return the field name of a column."""
        return _adjusted(self.fields, name, _FIELD, _FIELD_UNICODE)


AS_NAMED = NameAdjustment()
