"""Options of the representation of Oracle's values, by the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.relational.types.options import TypeOptions

if TYPE_CHECKING:
    from headrace.connectors.oracle.config import OracleConfig


@dataclass(frozen=True)
class OracleTypeOptions(TypeOptions):
    """The properties that determine how values are rendered. `legacy_decimal_handling_strategy`:
    whole numbers are integers in every decimal.handling.mode."""

    legacy_decimal_handling_strategy: bool = False

    @staticmethod
    def of(config: OracleConfig) -> OracleTypeOptions:
        """Return the options of a configuration."""
        return OracleTypeOptions.shared(
            config,
            interval_handling_mode=str(config.interval_handling_mode).lower(),
            legacy_decimal_handling_strategy=config.legacy_decimal_handling_strategy,
        )


DEFAULT_OPTIONS = OracleTypeOptions()
