"""Oracle's system change numbers, transaction ids, and the places of the log that they make.

An SCN is a whole number of up to 63 bits. A transaction's id (XID) has 8 bytes: undo segment (2),
slot (2) and sequence (4), and Debezium writes it as 16 hexadecimal digits. Transactions may be
committed at one SCN, in several redo threads too, so a place of the log (see
headrace.offsets.position) is SCN << 64 | XID, both of the commit: transactions of one SCN are
delivered in the order of their ids, however the threads' redo is read.
"""

from __future__ import annotations

LARGEST_SCN = (1 << 63) - 1
XID_BYTES = 8

_HALF = (1 << 64) - 1


def place_of(scn: int, xid: int) -> int:
    """Return the place of the commit of a transaction. The transaction that follows it is above."""
    return scn << 64 | xid


def after_scn(scn: int) -> int:
    """Return the place after every commit at an SCN."""
    return (scn + 1) << 64


def scn_of(place: int) -> int:
    """Return the SCN of a place."""
    return place >> 64


def xid_of(place: int) -> int:
    """Return the transaction id of a place."""
    return place & _HALF


def format_xid(xid: int) -> str:
    """Return an id as 16 hexadecimal digits, lower-case, as Debezium's `txId`."""
    return f"{xid:016x}"


def parse_xid(text: str) -> int:
    """The reverse of `format_xid`. Raises ValueError."""
    if len(text) != 2 * XID_BYTES:
        raise ValueError("a transaction id has 16 hexadecimal digits")
    return int.from_bytes(bytes.fromhex(text), "big")


def parse_scn(text: str) -> int:
    """Return an SCN from decimal digits. Raises ValueError."""
    if not text.isascii() or not text.isdigit() or int(text) > LARGEST_SCN:
        raise ValueError("no SCN")
    return int(text)
