"""Length and scale of a column in Debezium's schema parameters.

They are those of the PostgreSQL JDBC driver.
"""

from __future__ import annotations

from headrace.connectors.postgresql.types.type_facts import NO_TYPMOD, SYSTEM_SCHEMA, TypeFacts

UNKNOWN_LENGTH = (1 << 31) - 1

_LENGTHS = {
    "int2": 5, "int4": 10, "int8": 19, "oid": 10, "float4": 8, "float8": 17, "bool": 1, "char": 1,
    "date": 13, "interval": 49,
}  # fmt: skip
_SCALES = {"float4": 8, "float8": 17}
_TIMES = {"time": 8, "timetz": 14, "timestamp": 22, "timestamptz": 28}


def length_and_scale(facts: TypeFacts, typmod: int) -> tuple[int, int | None]:
    """Length and scale of a column; a numeric without precision has no scale. The driver does not
    know those of a domain in an array."""
    facts, typmod = facts.base_type(typmod)
    while facts.element is not None:
        facts = facts.element
    if facts.schema != SYSTEM_SCHEMA:
        return UNKNOWN_LENGTH, 0
    name = facts.name
    if name == "numeric":
        if typmod == NO_TYPMOD:
            return 0, None
        return (typmod - 4 >> 16) & 0xFFFF, (typmod - 4) & 0xFFFF
    if name in _TIMES:
        digits = 6 if typmod == NO_TYPMOD else typmod
        # The driver counts a point and the digits; one digit counts as two.
        return _TIMES[name] + {0: 0, 1: 3}.get(digits, digits + 1), digits
    if name == "interval":
        return _LENGTHS[name], 6 if typmod == NO_TYPMOD else typmod & 0xFFFF
    if name in ("bpchar", "varchar") and typmod != NO_TYPMOD:
        return typmod - 4, 0
    if name in ("bit", "varbit") and typmod != NO_TYPMOD:
        return typmod, 0
    return _LENGTHS.get(name, UNKNOWN_LENGTH), _SCALES.get(name, 0)
