"""The licences that distributions say they have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from release.components import Component

SSPL = re.compile(r"\bSSPL\b|Server[ -]Side[ -]Public[ -]License", re.I)
_LONGEST_NAME = 60
"""Characters; longer ones are the text of a licence."""


def licence_of(metadata: Any) -> str:
    """Of core metadata: the SPDX expression, else the name of the licence, else what classifiers
    say. Raises RuntimeError where all are absent, and for the SSPL."""
    name = (metadata.get("License") or "").strip()
    if "\n" in name or len(name) > _LONGEST_NAME:
        name = ""
    classifiers = [
        text.rpartition(" :: ")[2]
        for text in metadata.get_all("Classifier") or ()
        if text.startswith("License :: ")
    ]
    found = metadata.get("License-Expression") or name or " OR ".join(classifiers)
    if not found:
        raise RuntimeError(f"{metadata['Name']} {metadata['Version']} says no licence")
    if SSPL.search(found):
        raise RuntimeError(f"{metadata['Name']} {metadata['Version']} is under the SSPL")
    return str(found)


def licence_list(own: Component, dependencies: Mapping[Any, Component]) -> str:
    """The lines of the list: name, version, licence and address of each dependency."""
    extras = f" with the extras {', '.join(sorted(own.extras))}" if own.extras else ""
    head = (
        f"{own.name} {own.version} is under {own.licence}. pip installs these distributions\n"
        f"beside it{extras}. It contains none of them.\n"
    )
    rows = [(each.name, each.version, each.licence, each.url) for each in dependencies.values()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)] if rows else []
    lines = ("  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in rows)
    return "\n".join([head, *lines, ""])
