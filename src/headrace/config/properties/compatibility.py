"""Which release's quirks are reproduced."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import one_of
from headrace.config.property import Group, Property


class CompatibilityConfig(Configuration):
    """What event formats, converters and transforms ask alike."""

    headrace_compatibility = Property(
        "headrace.compatibility",
        one_of("none", "debezium-3.6"),
        "none",
        Group.HEADRACE,
        "Whose quirks to reproduce where headrace would render better.",
    )
