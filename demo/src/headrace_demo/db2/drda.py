"""Translates DRDA between IBM's driver and Apache Derby's server, in both directions.

DRDA sends DSS (data stream structures): a length of 2 bytes, whose first bit says that a further
segment follows, the magic byte D0, a byte of flags whose lower half is the kind, 2 bytes of
correlation, and objects. An object has a length of 2 bytes, a code point of 2 bytes, and its value,
which may consist of objects. (DRDA version 5, volume 3, chapters 2 and 3.)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

_CLIENT = b"DNC10020"
"""The version of Derby's own driver that the server must see: a later one gets objects in another
order."""
_SERVER = "SQL08020"
"""The server version that the driver must see: of later ones, and of Derby itself, it expects
features that Derby does not have."""

CREATING, ENDING = ";create=true", ";shutdown=true"
"""Suffixes of a database's name that create it, if it does not exist, and shut it down."""

_REQUEST, _OBJECT = 1, 3
_EXTERNAL_NAME, _RELEASE = 0x112E, 0x115A  # PRDID, SRVRLSLV
_DATABASE = 0x2110  # RDBNAM
_DIAGNOSES = 0x213B  # TRGDFTRT
_ACCESS, _ATTRIBUTES = 0x2001, 0x1443  # ACCRDB, EXCSATRD
_DESCRIBE, _PARAMETERS, _ROWS = 0x2008, 0x2412, 0x241B  # DSCSQLSTT, SQLDTA, QRYDTA
_PACKAGE_TOKEN, _QUERY_INSTANCE = 0x210E, 0x215B  # unknown to Derby in the driver's requests
_OUTCOME = 0x2408  # SQLCARD
_STATEMENT = 0x2414  # SQLSTT
_ONLY_DB2 = {
    b" ORGANIZE BY ROW": b"",
    b"CURRENT SERVER": b"'SIMULATOR'",
    b"SYSIBMADM.DBCFG": b"CAPTURE.DBCFG",
}
"""Db2's SQL that Derby does not have, with its replacement."""
_DISTANCE = b"CURRENT TIMEZONE"
"""The special register, unknown to Derby, that a number replaces."""
_DESCRIPTION, _VALUES = 0x0010, 0x147A  # FDODSC, FDODTA

_LONGEST = 0x7FFF
_BEFORE_TEXTS = 54  # bytes of an SQLCARD before the name of the database and two texts
_NO_ROWS = 100
_NAME_LENGTH = 18
_NULL = 0xFF
_ROW_GROUP = 0x76
_DECIMAL, _GRAPHIC, _VARGRAPHIC, _LONG_GRAPHIC = 0x0E, 0x36, 0x38, 0x3A
_TO_MIXED = 6  # from a type of graphic characters to that of mixed characters
_FIXED = {0x02: 4, 0x04: 2, 0x16: 8, 0x0A: 8, 0x0C: 4, 0x20: 10, 0x22: 8, 0x24: 26}
_COUNTED = frozenset({0x28, 0x2A, 0x32, 0x34, 0x3E, 0x40})
_SIZED = frozenset({0x26, 0x30, 0x3C})
_DERBY = re.compile(rb"CSS\d{5}")


class Untranslatable(Exception):
    """A message that the other side cannot understand, in any form."""


class Part(NamedTuple):
    """An object of DRDA."""

    code: int
    value: bytes


def split_parts(body: bytes) -> list[Part] | None:
    """The objects that bytes consist of; None if they do not consist of objects."""
    parts, at = [], 0
    while at + 4 <= len(body):
        length, code = struct.unpack_from(">HH", body, at)
        head = 4
        if length & 0x8000:  # the length is written after the code point
            head = length & _LONGEST
            length = head + int.from_bytes(body[at + 4 : at + head])
        if length < head or at + length > len(body):
            return None
        parts.append(Part(code, body[at + head : at + length]))
        at += length
    return parts if at == len(body) else None


def join_parts(parts: Sequence[Part]) -> bytes:
    """The bytes of objects."""
    return b"".join(
        struct.pack(">HH", len(value) + 4, code) + value
        if len(value) + 4 <= _LONGEST
        else struct.pack(">HHI", 0x8008, code, len(value)) + value
        for code, value in parts
    )


class Requests:
    """Translates the driver's requests for Derby. `attribute`: CREATING or ENDING, appended to each
    database name; empty: neither. `distance` returns the offset of Derby's clock from UTC in
    seconds."""

    def __init__(self, attribute: str = "", distance: Callable[[], int] = lambda: 0) -> None:
        self._segments = _Segments()
        self._attribute, self._distance = attribute, distance
        self.database: str | None = None
        """The database name in the last request."""

    def feed(self, sent: bytes) -> bytes:
        """Return the bytes to pass on. Raises Untranslatable."""
        return b"".join(map(self._translate, self._segments.feed(sent)))

    def _translate(self, segments: list[bytes]) -> bytes:
        first = segments[0]
        body = b"".join((first[6:], *(segment[2:] for segment in segments[1:])))
        kind = first[3] & 0x0F
        parts = split_parts(body)
        if parts is None or kind not in (_REQUEST, _OBJECT):
            return b"".join(segments)
        translate = self._command if kind == _REQUEST else self._data
        return _segmented(first[2:6], join_parts([translate(part) for part in parts]))

    def _command(self, command: Part) -> Part:
        operands = split_parts(command.value)
        if operands is None:
            return command
        parts = []
        for code, value in operands:
            if code == _PACKAGE_TOKEN or (code, command.code) == (_QUERY_INSTANCE, _DESCRIBE):
                continue
            if command.code == _ACCESS and code == _EXTERNAL_NAME:
                value = _CLIENT
            elif command.code == _ACCESS and code == _DIAGNOSES:
                value = b"\xf0"
            elif code == _DATABASE:
                self.database = value.decode(_encoding(value)).rstrip()
                value = _named(value, self._attribute) if self._attribute else value
            parts.append(Part(code, value))
        return Part(command.code, join_parts(parts))

    def _data(self, part: Part) -> Part:
        """Translate a statement, or its parameters."""
        if part.code != _STATEMENT:
            return _parameters(part)
        text = part.value
        for of_db2, other in _ONLY_DB2.items():
            text = text.replace(of_db2, other.ljust(len(of_db2)))
        if _DISTANCE in text:
            number = _duration(self._distance()).rjust(len(_DISTANCE))
            text = text.replace(_DISTANCE, number.encode())
        return Part(part.code, text)


class Replies:
    """Translates Derby's replies for the driver."""

    def __init__(self) -> None:
        self._segments = _Segments()
        self._release: bytes | None = None
        """The release that Derby reports, in EBCDIC."""

    def feed(self, sent: bytes) -> bytes:
        """Return the bytes to pass on."""
        return b"".join(map(self._translate, self._segments.feed(sent)))

    def _translate(self, segments: list[bytes]) -> bytes:
        if len(segments) > 1:
            return b"".join(segments)  # rows
        (dss,) = segments
        parts = split_parts(dss[6:])
        if parts is None or any(part.code == _ROWS for part in parts):
            return dss
        for part in parts:
            if part.code == _ATTRIBUTES:
                release = dict(split_parts(part.value) or ()).get(_RELEASE)
                self._release = release and release.strip()
        request = join_parts([_without_text(part) for part in parts])
        body = _DERBY.sub(_SERVER.encode(), request)
        for name in self._releases():
            body = body.replace(name, _like(name, _SERVER))
        return (len(body) + 6).to_bytes(2) + dss[2:6] + body

    def _releases(self) -> Iterator[bytes]:
        ebcdic = "CSS".encode("cp500")
        if self._release is not None and self._release.startswith(ebcdic):
            yield self._release[:8]


def _without_text(part: Part) -> Part:
    """Translate the outcome of a statement; one that changed no row gets Db2's usual SQLCODE, and
    the text that the driver cannot parse is removed from warnings."""
    if part.code != _OUTCOME or len(part.value) <= _BEFORE_TEXTS:
        return part
    code = int.from_bytes(part.value[1:5], signed=True)
    if code <= 0:
        return part
    usual = _NO_ROWS if part.value[5:10] == b"02000" else code
    head = part.value[:1] + usual.to_bytes(4) + part.value[5:_BEFORE_TEXTS]
    return Part(part.code, head + bytes(6) + b"\xff")


class _Segments:
    """Combines incoming bytes to DSS, each with all of its segments."""

    def __init__(self) -> None:
        self._rest = b""
        self._segments: list[bytes] = []

    def feed(self, sent: bytes) -> Iterator[list[bytes]]:
        received = self._rest + sent
        at = 0
        while at + 2 <= len(received):
            head = int.from_bytes(received[at : at + 2])
            length = head & _LONGEST
            if at + length > len(received):
                break
            self._segments.append(received[at : at + length])
            at += length
            if not head & 0x8000:
                segments, self._segments = self._segments, []
                yield segments
        self._rest = received[at:]


def _segmented(head: bytes, body: bytes) -> bytes:
    """Split a DSS into the necessary segments; `head` is the part between length and objects."""
    whole = head + body
    pieces = [whole[at : at + _LONGEST - 2] for at in range(0, len(whole), _LONGEST - 2)]
    lengths = [len(piece) + 2 for piece in pieces]
    lengths[:-1] = [0x8000 | length for length in lengths[:-1]]
    return b"".join(
        length.to_bytes(2) + piece for length, piece in zip(lengths, pieces, strict=True)
    )


def _named(database: bytes, attribute: str) -> bytes:
    """The name of a database with an attribute; the protocol pads it with blanks."""
    blank = _like(database, " ")
    name = database.rstrip(blank) + _like(database, attribute)
    return name.ljust(_NAME_LENGTH, blank)


def _like(example: bytes, text: str) -> bytes:
    """The text in the encoding of the example: EBCDIC until both sides agreed on UTF-8."""
    return text.encode(_encoding(example))


def _encoding(name: bytes) -> str:
    return "cp500" if name[:1] >= b"\x80" else "utf-8"


def _duration(seconds: int) -> str:
    """A time as the decimal number that SQL uses: hours, minutes and seconds. A zero needs a digit
    after its point: otherwise Derby reads it as a DECIMAL without digits."""
    hours, rest = divmod(abs(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    return f"{'-' if seconds < 0 else ''}{hours * 10_000 + minutes * 100 + rest}.0"


def _parameters(part: Part) -> Part:
    """Translate a statement's parameters: graphic characters, which Derby expects but does not
    accept, become mixed characters."""
    operands = dict(split_parts(part.value) or ()) if part.code == _PARAMETERS else {}
    if _DESCRIPTION not in operands or _VALUES not in operands:
        return part
    description, types = _mixed_description(operands[_DESCRIPTION])
    operands[_DESCRIPTION] = description
    operands[_VALUES] = _mixed_values(operands[_VALUES], types)
    return Part(part.code, join_parts([Part(*operand) for operand in operands.items()]))


def _mixed_description(description: bytes) -> tuple[bytes, list[tuple[int, int]]]:
    """The description for Derby, and type and length of each parameter as the driver sent it."""
    mixed, types, at = bytearray(description), [], 0
    while at < len(mixed):
        size = mixed[at]
        if mixed[at + 1] == _ROW_GROUP:
            for field in range(at + 3, at + size, 3):
                kind, length = struct.unpack_from(">BH", mixed, field)
                types.append((kind, length))
                if kind & ~1 in (_GRAPHIC, _VARGRAPHIC, _LONG_GRAPHIC):
                    changed = _VARGRAPHIC + _TO_MIXED | kind & 1
                    struct.pack_into(">BH", mixed, field, changed, _LONGEST)
        at += size
    return bytes(mixed), types


def _mixed_values(values: bytes, types: Sequence[tuple[int, int]]) -> bytes:
    """Translate values. Raises Untranslatable for a type of unknown size."""
    mixed, at = bytearray(values[:1]), 1
    for kind, length in types:
        if kind & 1:
            mixed.append(values[at])
            at += 1
            if values[at - 1] == _NULL:
                continue
        plain = kind & ~1
        if plain in (_GRAPHIC, _VARGRAPHIC, _LONG_GRAPHIC):
            counted = plain != _GRAPHIC
            units = int.from_bytes(values[at : at + 2]) if counted else length
            at += 2 * counted
            text = values[at : at + 2 * units].decode("utf-16-be").encode()
            at += 2 * units
            mixed += len(text).to_bytes(2) + text
            continue
        if plain in _FIXED:
            size = _FIXED[plain]
        elif plain == _DECIMAL:
            size = (length >> 8) // 2 + 1
        elif plain in _COUNTED:
            size = 2 + int.from_bytes(values[at : at + 2])
        elif plain in _SIZED:
            size = length
        else:
            raise Untranslatable(f"a parameter of DRDA's type 0x{plain:02X}")
        mixed += values[at : at + size]
        at += size
    return bytes(mixed + values[at:])
