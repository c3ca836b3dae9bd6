"""Options of the rendering of PostgreSQL's values, from the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.relational.types.options import TypeOptions


@dataclass(frozen=True)
class PostgresTypeOptions(TypeOptions):
    """The properties that determine how values are rendered, including PostgreSQL's own types."""

    include_unknown_datatypes: bool = False
    hstore_handling_mode: str = "json"
    money_fraction_digits: int = 2

    @staticmethod
    def of(config: PostgresConfig) -> PostgresTypeOptions:
        """The options of a configuration."""
        return PostgresTypeOptions.shared(
            config,
            interval_handling_mode=str(config.interval_handling_mode).lower(),
            include_unknown_datatypes=config.include_unknown_datatypes,
            hstore_handling_mode=str(config.hstore_handling_mode).lower(),
            money_fraction_digits=config.money_fraction_digits,
        )


DEFAULT_OPTIONS = PostgresTypeOptions()
