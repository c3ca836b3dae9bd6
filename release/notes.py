"""The notes of a release: `python -m release.notes TAG` prints its section of the changelog."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from headrace.version import VERSION

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def notes(tag: str, changelog: str) -> str:
    """Raises RuntimeError where the tag is not the version of the sources, or the changelog has no
    section with its date."""
    if tag != f"v{VERSION}":
        raise RuntimeError(
            f"The tag {tag!r} is not v{VERSION}: set VERSION in src/headrace/version.py"
        )
    found = re.search(
        rf"^## \[{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |^\[|\Z)",
        changelog,
        re.M | re.S,
    )
    if found is None:
        raise RuntimeError(
            f"CHANGELOG.md has no section `## [{VERSION}] - YYYY-MM-DD`: give what is under "
            "`## [Unreleased]` that heading"
        )
    return f"{found[1].strip()}\n"


if __name__ == "__main__":
    try:
        print(notes(sys.argv[1], CHANGELOG.read_text()), end="")
    except RuntimeError as error:
        sys.exit(str(error))
