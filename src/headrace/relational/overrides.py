"""`snapshot.select.statement.overrides`: the SELECT statements with which the snapshot reads some
tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.config.hidden import HiddenTexts
from headrace.config.properties.relational import RelationalConfig

PROPERTY = "snapshot.select.statement.overrides"


@dataclass(frozen=True)
class Overrides:
    """Statements by `schema.table`; `without_statement`: tables that are listed but have no
    statement; `hidden`: texts that messages about them must not contain."""

    statements: Mapping[str, str]
    without_statement: tuple[str, ...] = ()
    hidden: HiddenTexts = field(default_factory=HiddenTexts)

    @staticmethod
    def of(config: RelationalConfig) -> Overrides:
        """The overrides of a configuration."""
        statements = {
            member.variables[0]: member.value.strip().rstrip(";")
            for member in config.snapshot_select_statement_overrides_options
        }
        listed = config.snapshot_select_statement_overrides
        return Overrides(
            {name: statements[name] for name in listed if name in statements},
            tuple(name for name in listed if name not in statements),
            config.hidden,
        )
