"""Values that the log writes in parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.connectors.oracle.redo.lob_statements import LobWrite

_UNIT = 2
"""Bytes of a UTF-16 unit, in which Oracle counts the characters of a CLOB."""
_MAX_BYTES = 1 << 30
_SPACE = " ".encode("utf-16-le")


@dataclass
class LobValue:
    """A LOB that is written in parts, which may overlap and come in any order; later parts win.
    Gaps are spaces in texts and zeros in bytes. Texts and bytes do not mix."""

    is_binary: bool
    written: bytearray = field(default_factory=bytearray)

    @staticmethod
    def beginning_with(value: str | bytes) -> LobValue:
        """Return a LOB that begins with the value in its row."""
        lob = LobValue(isinstance(value, bytes))
        lob.write(LobWrite(0, value))
        return lob

    def write(self, part: LobWrite) -> None:
        """Write a part at its offset. Raises ValueError for bytes in a text, texts in bytes, and if
        the value would be larger than 1 GiB."""
        if isinstance(part.part, bytes) != self.is_binary:
            raise ValueError("texts and bytes are written to one LOB")
        if isinstance(part.part, bytes):
            raw, start, gap = part.part, part.offset, b"\0"
        else:
            raw, start, gap = _units(part.part), _UNIT * part.offset, _SPACE
        if start + len(raw) > _MAX_BYTES:
            raise ValueError(f"it begins at {part.offset}, and a value has 1 GiB at most")
        missing = start - len(self.written)
        if missing > 0:
            self.written += gap * (missing // len(gap))
        self.written[start : start + len(raw)] = raw

    def text(self) -> str:
        """Return headrace's text of the value; unpaired surrogates become replacement
        characters."""
        if self.is_binary:
            return "\\x" + self.written.hex()
        return self.written.decode("utf-16-le", "replace")


def _units(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
