"""The enumerations of the Db2 connector. Values are Debezium's texts."""

from __future__ import annotations

from enum import StrEnum


class Db2Platform(StrEnum):
    """The values of `db2.platform`."""

    LUW = "LUW"
    ZOS = "ZOS"
