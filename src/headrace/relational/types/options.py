"""The configured rendering of values, common to all relational connectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from headrace.config.properties.relational import RelationalConfig
from headrace.errors import HeadraceError


@dataclass(frozen=True)
class TypeOptions:
    """The properties that determine the rendering of values, separate from the configuration: small
    and hashable, for tasks and tests. Words are in lower case. Connectors add their own."""

    decimal_handling_mode: str = "precise"
    unavailable_value_placeholder: str = "__debezium_unavailable_value"
    time_precision_mode: str = "adaptive"
    binary_handling_mode: str = "bytes"
    interval_handling_mode: str = "numeric"
    compatibility: str = "none"

    @classmethod
    def shared(cls, config: RelationalConfig, **own: Any) -> Self:
        """Return the options that all relational connectors share, from a configuration; `own` are
        the connector's own."""
        return cls(
            decimal_handling_mode=str(config.decimal_handling_mode).lower(),
            unavailable_value_placeholder=config.unavailable_value_placeholder,
            time_precision_mode=str(config.time_precision_mode).lower(),
            binary_handling_mode=str(config.binary_handling_mode).lower(),
            compatibility=str(config.headrace_compatibility),
            **own,
        )

    @property
    def quirks(self) -> bool:
        """Whether Debezium 3.6's behavior is reproduced where headrace would render better."""
        return self.compatibility == "debezium-3.6"

    @property
    def placeholder(self) -> bytes:
        """The placeholder's bytes; the prefix `hex:` means that they are given in hexadecimal."""
        text = self.unavailable_value_placeholder
        if text.startswith("hex:"):
            try:
                return bytes.fromhex(text[4:])
            except ValueError:
                raise HeadraceError(
                    "config.invalid",
                    f"unavailable.value.placeholder is not hexadecimal after hex:, but {text!r}",
                    "Write pairs of hexadecimal digits after hex:, or plain text without it.",
                ) from None
        return text.encode()
