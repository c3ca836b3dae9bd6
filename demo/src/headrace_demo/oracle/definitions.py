"""Definitions of tables, as in Oracle's data dictionary.

Oracle Database Reference: ALL_TAB_COLS, ALL_CONSTRAINTS, ALL_INDEXES.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

UNLIMITED = 2**63 - 1
"""The end SCN of a row that was not deleted or changed."""

_COLUMN = re.compile(
    r"""(?P<name>"[^"]+"|\S+)\s+
    (?P<type>(?:INTERVAL\s+YEAR(?:\s*\(\d+\))?\s+TO\s+MONTH
      |INTERVAL\s+DAY(?:\s*\(\d+\))?\s+TO\s+SECOND(?:\s*\(\d+\))?
      |TIMESTAMP(?:\s*\(\d+\))?(?:\s+WITH(?:\s+LOCAL)?\s+TIME\s+ZONE)?
      |DOUBLE\s+PRECISION|LONG\s+RAW|[\w.]+(?:\s*\([^)]*\))?))
    (?P<identity>\s+GENERATED\s+(?:ALWAYS|BY\s+DEFAULT(?:\s+ON\s+NULL)?)\s+AS\s+IDENTITY
      (?:\s*\([^)]*\))?)?
    (?P<default>\s+DEFAULT\s+.*?)?
    (?P<required>\s+NOT\s+NULL)?
    (?P<options>(?:\s+(?:GENERATED|HIDDEN|INVISIBLE|IDENTITY))*)
    (?:\s+COMMENT\s+'(?P<comment>(?:[^']|'')*)')?$""",
    re.X | re.I | re.S,
)
_FIRST = re.compile(r"START\s+WITH\s+(\d+)", re.I)
_NUMBERS = re.compile(r"\(\s*([\d*]+)[^,)]*(?:,\s*(-?\d+)\s*)?\)")
_LENGTHS = {
    "NUMBER": 22, "FLOAT": 22, "DATE": 7, "BINARY_FLOAT": 4, "BINARY_DOUBLE": 8, "ROWID": 10,
    "LONG": 0, "LONG RAW": 0, "CLOB": 4000, "NCLOB": 4000, "BLOB": 4000, "BFILE": 530,
    "XMLTYPE": 2000, "JSON": 8200, "UROWID": 4000,
}  # fmt: skip
_WORDS = {
    "INTEGER": ("NUMBER", None, 0), "INT": ("NUMBER", None, 0), "SMALLINT": ("NUMBER", None, 0),
    "REAL": ("FLOAT", 63, None), "DOUBLE PRECISION": ("FLOAT", 126, None),
    "FLOAT": ("FLOAT", 126, None),
}  # fmt: skip
_LETTERS = ("CHAR", "NCHAR", "VARCHAR2", "NVARCHAR2", "RAW", "UROWID")


@dataclass(frozen=True)
class Column:
    """A row of ALL_TAB_COLS (`is_hidden`: hidden by Oracle itself; `is_invisible`: by the creator
    of the table): `type` is DATA_TYPE, `length` DATA_LENGTH in bytes (of texts: in characters,
    CHAR_LENGTH), `precision` and `scale` are None if Oracle has NULL, `default` is the text of
    DATA_DEFAULT; `first` is the first number of an identity column."""

    name: str
    type: str
    length: int
    precision: int | None = None
    scale: int | None = None
    nullable: bool = True
    default: str | None = None
    comment: str | None = None
    is_virtual: bool = False
    is_hidden: bool = False
    is_invisible: bool = False
    is_identity: bool = False
    first: int = 1

    @classmethod
    def parse(cls, text: str) -> Column:
        """Parse a column definition of `CREATE TABLE`: `ID NUMBER(9,0) NOT NULL`. GENERATED,
        HIDDEN, INVISIBLE, IDENTITY and COMMENT 'text' may follow; an identity column may also be
        written as in CREATE TABLE. Raises ValueError."""
        parts = _COLUMN.match(text.strip())
        if parts is None:
            raise ValueError(f"no definition of a column: {text}")
        name, written = parts["name"], " ".join(parts["type"].upper().split())
        default = parts["default"]
        options = parts["options"].upper()
        comment = parts["comment"]
        identity = parts["identity"] or ""
        first = _FIRST.search(identity)
        kind, length, precision, scale = _measures(written)
        return cls(
            name=name[1:-1] if name.startswith('"') else name.upper(),
            type=kind,
            length=length,
            precision=precision,
            scale=scale,
            nullable=parts["required"] is None and not identity,
            default=default.strip()[len("DEFAULT") :].lstrip() if default else None,
            comment=comment.replace("''", "'") if comment else None,
            is_virtual="GENERATED" in options,
            is_hidden="HIDDEN" in options,
            is_invisible="INVISIBLE" in options,
            is_identity=bool(identity) or "IDENTITY" in options,
            first=int(first[1]) if first else 1,
        )


def _measures(written: str) -> tuple[str, int, int | None, int | None]:
    """DATA_TYPE, length, precision and scale of a type in the syntax of `CREATE TABLE`."""
    measures = [
        (None if number == "*" else int(number), int(scale) if scale else None)
        for number, scale in _NUMBERS.findall(written)
    ]
    base = _NUMBERS.sub("", written).strip()
    if written.startswith("TIMESTAMP"):
        fraction = measures[0][0] if measures else 6
        rest = base.removeprefix("TIMESTAMP")
        return (
            f"TIMESTAMP({fraction}){rest}",
            13 if rest == " WITH TIME ZONE" else 11,
            None,
            fraction,
        )
    if written.startswith("INTERVAL YEAR"):
        years = measures[0][0] if measures else 2
        return f"INTERVAL YEAR({years}) TO MONTH", 5, years, 0
    if written.startswith("INTERVAL DAY"):
        days = re.search(r"DAY\s*\((\d+)\)", written)
        seconds = re.search(r"SECOND\s*\((\d+)\)", written)
        day_digits, fraction = int(days[1]) if days else 2, int(seconds[1]) if seconds else 6
        return f"INTERVAL DAY({day_digits}) TO SECOND({fraction})", 11, day_digits, fraction
    number, scale = measures[0] if measures else (None, None)
    if base in _WORDS and number is None:
        kind, precision, scale = _WORDS[base]
        return kind, 22, precision, scale
    if base in ("DECIMAL", "NUMERIC", "DEC", "NUMBER"):
        is_plain = base == "NUMBER" and number is None and not measures
        # The scale of a number with a precision is 0, also that of DECIMAL without a precision.
        return "NUMBER", 22, number, None if is_plain else scale or 0
    if base == "FLOAT":
        return "FLOAT", 22, number, None
    if base == "VARCHAR":
        base = "VARCHAR2"
    if base in _LETTERS:
        return base, number or 1, None, None
    return base, _LENGTHS.get(base, 4000), None, None


@dataclass(frozen=True)
class Row:
    """Values of a table's columns, visible to `AS OF SCN` from one SCN until before another."""

    values: tuple[Any, ...]
    first: int = 0
    end: int = UNLIMITED


@dataclass
class Table:
    """A table, with the rows that a snapshot of it sees; `key` are the columns of the primary key,
    `unique` those of each unique index, `object_id` is OBJECT_ID and DATA_OBJECT_ID, `ddl` is the
    result of DBMS_METADATA.GET_DDL, `log_groups` are LOG_GROUP_TYPE of ALL_LOG_GROUPS."""

    schema: str
    name: str
    object_id: int
    columns: list[Column]
    key: list[str] = field(default_factory=list)
    unique: list[list[str]] = field(default_factory=list)
    log_groups: list[str] = field(default_factory=lambda: ["ALL COLUMN LOGGING"])
    ddl: str = ""
    kind: str = ""
    """`EXTERNAL`, `HYBRID`, or `NESTS`: the table has nested tables."""
    comment: str | None = None
    last_ddl_scn: int = 0
    logging: str = "YES"
    partition_logging: list[str] = field(default_factory=list)
    """LOGGING of its partitions."""
    subpartition_logging: list[str] = field(default_factory=list)
    lob_logging: dict[str, dict[str, str]] = field(default_factory=dict)
    """LOGGING of columns, by view (ALL_LOBS and those of partitions)."""
    numbers: dict[str, int] = field(default_factory=dict)
    """The next numbers of identity columns."""
    rows: list[Row] = field(default_factory=list)

    @classmethod
    def read(cls, definition: Mapping[str, Any], number: int) -> Table:
        """Return a table of a script; `number` determines the object id if the script has none."""
        schema, name = definition["name"].split(".", 1)
        columns = [Column.parse(text) for text in definition["columns"]]
        key = list(definition.get("key", ()))
        columns = [
            Column(**{**vars(column), "nullable": False}) if column.name in key else column
            for column in columns
        ]
        supplemental = definition.get("supplemental", "ALL COLUMN LOGGING")
        table = cls(
            schema=schema,
            name=name,
            object_id=definition.get("object", 70000 + number),
            columns=columns,
            key=key,
            unique=[list(names) for names in definition.get("unique", ())],
            log_groups=[supplemental]
            if isinstance(supplemental, str)
            else list(supplemental or ()),
            ddl=definition.get("ddl") or _create(schema, name, definition["columns"], key),
            kind=definition.get("kind", ""),
            comment=definition.get("comment"),
            last_ddl_scn=definition.get("last_ddl_scn", 0),
        )
        for row in definition.get("rows", ()):
            table.add_row(row)
        return table

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"

    def with_numbers(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of an inserted row, with the generated values of its identity columns
        if they are missing."""
        row = dict(values)
        for column in self.columns:
            if column.is_identity and row.get(column.name) is None:
                row[column.name] = self.numbers.get(column.name, column.first)
                self.numbers[column.name] = row[column.name] + 1
        return row

    def add_row(self, row: Any, first: int = 0) -> None:
        """Add a row of a script: its values, or `{"values": …, "from": SCN, "until": SCN}`."""
        if isinstance(row, Mapping):
            first, end = row.get("from", first), row.get("until", UNLIMITED)
            self.rows.append(Row(tuple(row["values"]), first, end))
        else:
            self.rows.append(Row(tuple(row), first))


def _create(schema: str, name: str, columns: list[str], key: list[str]) -> str:
    """The DDL that DBMS_METADATA returns for a table without storage clauses, in its layout."""
    texts = [
        re.sub(r"\s+(GENERATED|HIDDEN|INVISIBLE|IDENTITY|COMMENT .*)$", "", text)
        for text in columns
    ]
    quoted = [re.sub(r'^([^"\s]\S*)', r'"\1"', text) for text in texts]
    keys = ", ".join(f'"{column}"' for column in key)
    lines = [*quoted, *([f" PRIMARY KEY ({keys})\n  USING INDEX  ENABLE"] if key else [])]
    body = ", \n\t".join(lines)
    return f'\n  CREATE TABLE "{schema}"."{name}" \n   (\t{body}\n   ) ;'
