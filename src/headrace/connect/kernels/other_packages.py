"""The releases of other packages whose connectors, sinks and transforms are found by entry points:
their kernels are compiled again for each release, because Numba detects changes only in a kernel's
own module, and not in those that it calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib import metadata

GROUPS = ("headrace.connectors", "headrace.sinks", "headrace.transforms")
"""The groups of entry points."""

_OWN = __name__.partition(".")[0]


@cache
def releases() -> Mapping[str, str]:
    """Return names and versions of the distributions with such entry points, by their top-level
    package. It is read once per process."""
    versions: dict[str, set[str]] = defaultdict(set)
    entries = metadata.entry_points()
    for group in GROUPS:
        for entry in entries.select(group=group):
            package = entry.value.partition(":")[0].partition(".")[0].strip()
            if entry.dist is not None and package != _OWN:
                versions[package].add(f"{entry.dist.name} {entry.dist.version}")
    return {package: ", ".join(sorted(names)) for package, names in sorted(versions.items())}


def release_of(module: str) -> str:
    """Return the release of another package that has the module; "" for headrace's own modules, and
    for packages without entry points."""
    package = module.partition(".")[0]
    return "" if package == _OWN else releases().get(package, "")
