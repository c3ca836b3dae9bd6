"""DRDA as far as a recorder has to know it: chains of requests and replies, and what names a
request. DRDA version 5, volume 3."""

from __future__ import annotations

from headrace_demo.db2.drda import split_parts
from tests.golden.door import Incoming

_CHAINED, _KIND, _CONTINUED = 0x40, 0x0F, 0x8000
_REQUEST, _OBJECT = 1, 3
_SECTION, _STATEMENT = 0x2113, 0x2414  # PKGNAMCSN, SQLSTT
_EXECUTE, _EXECUTE_AT_ONCE = 0x200B, 0x200A  # EXCSQLSTT, EXCSQLIMM
_OF_LOGIN = {0x1041: b"EXCSAT", 0x106D: b"ACCSEC", 0x106E: b"SECCHK", 0x2001: b"ACCRDB"}
"""Requests that tell of the client's process and of the moment."""


class Chains(Incoming):
    """The chains of DSS that come through a socket."""

    def next(self) -> list[bytes]:
        """The DSS of the next chain. Raises Closed."""
        chain = []
        while True:
            dss = self._dss()
            chain.append(dss)
            if not dss[3] & _CHAINED:
                return chain

    def _dss(self) -> bytes:
        whole = b""
        while True:
            head = int.from_bytes(self.ahead(2), "big")
            whole += self.take(head & ~_CONTINUED)
            if not head & _CONTINUED:
                return whole


class Session:
    """What a client asks on a connection. Sections keep the statements that were prepared."""

    def __init__(self) -> None:
        self._statements: dict[bytes, bytes] = {}
        self.writes_signal = False
        """Whether the last chain writes a signal, or deletes one."""

    def asks(self, chain: list[bytes]) -> list[bytes]:
        """What names the question that a chain is: its bytes, and the statements that it means."""
        self.writes_signal = False
        said: list[bytes] = []
        section = b""
        for dss in chain:
            parts = split_parts(dss[6:]) or []
            login = [_OF_LOGIN[part.code] for part in parts if part.code in _OF_LOGIN]
            said += login or [dss]
            for part in parts:
                if dss[3] & _KIND == _REQUEST:
                    operands = dict(split_parts(part.value) or ())
                    section = operands.get(_SECTION, section)
                    statement = self._statements.get(section, b"")
                    said.append(statement)
                    executes = part.code == _EXECUTE and _is_write(statement)
                    self.writes_signal = self.writes_signal or executes
                elif dss[3] & _KIND == _OBJECT and part.code == _STATEMENT:
                    self._statements[section] = part.value
        return said


def _is_write(statement: bytes) -> bool:
    text = statement.lstrip(b"\0").lstrip()
    return text[:12].lstrip(b" \0\x01\x02\x03\x04").startswith((b"INSERT", b"DELETE"))
