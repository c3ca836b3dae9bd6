"""One remark about one property."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """`code` is dotted and stable, `property` is Debezium's name (or empty: the whole)."""

    code: str
    property: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]. {self.remedy}"
