""" "Did you mean": the declared property that an unknown name was probably meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from headrace.config.property import Family, Property
from headrace.config.secret import printable_name


class Suggestions:
    """Looks through former names, spelling without case and separators, and close spellings."""

    def __init__(
        self, declared: Mapping[str, Property[Any]], families: Mapping[str, Family[Any]]
    ) -> None:
        self._former = {
            former: name
            for name, declaration in declared.items()
            for former in declaration.formerly
        }
        self._plain = {_plain(name): name for name in declared}
        self._names = [*declared, *(family.name for family in families.values())]

    def find(self, name: str) -> str | None:
        """A property name, or None when nothing is near."""
        lowered = printable_name(name).lower()
        if lowered in self._former:
            return self._former[lowered]
        if _plain(lowered) in self._plain:
            return self._plain[_plain(lowered)]
        former = difflib.get_close_matches(lowered, self._former, n=1, cutoff=0.9)
        if former:
            return self._former[former[0]]
        by_lowered = {known.lower(): known for known in self._names}
        near = difflib.get_close_matches(lowered, by_lowered, n=1, cutoff=0.8)
        if near:
            return by_lowered[near[0]]
        # "hostname" for database.hostname, "source.table.include.list" for table.include.list.
        endings = [
            known
            for known in self._names
            if known.lower().endswith("." + lowered) or lowered.endswith("." + known.lower())
        ]
        return max(endings, key=len) if endings else None

    def find_typo(self, name: str) -> str | None:
        """As `find`, but only what is all but certain: for names that a family would take."""
        lowered = name.lower()
        if lowered in self._former:
            return self._former[lowered]
        if _plain(lowered) in self._plain:
            return self._plain[_plain(lowered)]
        near = difflib.get_close_matches(lowered, self._plain.values(), n=1, cutoff=0.93)
        return near[0] if near else None


def _plain(name: str) -> str:
    return re.sub(r"[._\s-]", "", name).lower()
