"""The options of a custom transform, which may have any names."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.config.configuration import Configuration
from headrace.config.kinds import EXACT_TEXT
from headrace.config.property import Group, PassThrough


class OwnOptions(Configuration):
    """Every option is passed on as text."""

    options = PassThrough(
        "*", EXACT_TEXT, Group.CONVERTERS, "Handed to the function.", pattern=r"(.+)"
    )

    def given(self) -> Mapping[str, str]:
        """The options by name."""
        return self.options
