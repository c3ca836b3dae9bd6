"""Column defaults for schemas, from PostgreSQL's text of the default expression.

Only literals are read. A function call gives its type's placeholder, as in Debezium; every other
expression gives no default. Debezium instead takes the first quoted text of any expression
(`('a'::text || 'b'::text)` becomes `a`): a wrong default that would replace real nulls.
"""

from __future__ import annotations

import re
import uuid

from headrace.connectors.postgresql.types.numeric import numeric
from headrace.connectors.postgresql.types.options import DEFAULT_OPTIONS, PostgresTypeOptions
from headrace.connectors.postgresql.types.type_facts import SYSTEM_SCHEMA, TypeFacts
from headrace.relational.types.declaration import TypeDeclaration

_ANY_QUOTED = re.compile(r"'(.*?)'", re.DOTALL)
_FUNCTION = re.compile(r"\(?[A-Za-z0-9_.]+\(.*\)", re.DOTALL)
_KEYWORDS = frozenset(
    {"current_timestamp", "current_time", "current_date", "localtime", "localtimestamp"}
)
_CAST = r"(?:::[A-Za-z_\"][\w\s\".]*(?:\([0-9, -]+\))?[\w\s]*)*"
_QUOTED = re.compile(rf"([EB]?)'((?:[^']|'')*)'{_CAST}", re.DOTALL)
_NULL = re.compile(r"NULL(?:::.*)?", re.DOTALL)
_BARE = re.compile(r"[\w.+-]+")

_PLACEHOLDERS = {
    "bit": "0",
    "varbit": "0",
    "bool": "f",
    "bpchar": "",
    "varchar": "",
    "text": "",
    "numeric": "0",
    "float4": "0",
    "float8": "0",
    "int2": "0",
    "int4": "0",
    "int8": "0",
    "json": "{}",
    "jsonb": "{}",
    "xml": "",
    "uuid": str(uuid.UUID(int=0)),
    "date": "1970-01-01",
    "time": "00:00:00",
    "timestamp": "1970-01-01 00:00:00",
    "timestamptz": "1970-01-01 00:00:00+00",
    "interval": "00:00:00",
}
"""Types with defaults, and the text of their value for a function call."""

_BOOLEANS = {"true": "t", "false": "f"}


def default_value(
    facts: TypeFacts,
    typmod: int,
    declaration: TypeDeclaration,
    expression: str,
    options: PostgresTypeOptions,
) -> object | None:
    """Return the Connect value of a default, or None when the schema shows none.

    `expression` is the output of `pg_get_expr`. Never raises: a default that cannot be read is left
    out.
    """
    expression = expression.strip()
    placeholder: str | None = None
    if facts.kind != "e":
        if facts.schema != SYSTEM_SCHEMA or facts.name not in _PLACEHOLDERS:
            return None
        placeholder = _PLACEHOLDERS[facts.name]
    text = _literal(expression, placeholder)
    if text is None and options.quirks and not _NULL.fullmatch(expression):
        quoted = _ANY_QUOTED.search(expression)
        text = expression if quoted is None else quoted[1]
    if text is None or (facts.kind == "e" and text not in facts.labels):
        return None
    if facts.name == "bool":
        text = _BOOLEANS.get(text.lower(), text)
    # In every mode, a number with more digits than the column allows is no default.
    if facts.name == "numeric" and not numeric(typmod, DEFAULT_OPTIONS).reads(text):
        return None
    return declaration.default(text)


def _literal(expression: str, placeholder: str | None) -> str | None:
    """The text of a literal, the placeholder for a function call, or None."""
    if _NULL.fullmatch(expression):
        return None
    if expression.lower() in _KEYWORDS or _FUNCTION.match(expression):
        return placeholder
    quoted = _QUOTED.fullmatch(expression)
    if quoted is not None:
        text = quoted[2].replace("''", "'")
        # pg_get_expr writes E'…' only to double backslashes.
        return text.replace("\\\\", "\\") if quoted[1] == "E" else text
    if _BARE.fullmatch(expression) and not expression.isidentifier():
        return expression
    return expression if expression.lower() in _BOOLEANS else None
