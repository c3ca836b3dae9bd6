"""The requirements of sinks on the columns of a stream."""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import ArrayType, BinaryType, StringType, StructType


def are_headers(kind: Any) -> bool:
    """Whether a column has the type of headers: array<struct<key:string,value:binary>>."""
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    fields = [field.dataType for field in kind.elementType.fields]
    return (
        len(fields) == 2
        and isinstance(fields[0], StringType)
        and isinstance(fields[1], StringType | BinaryType)
    )
