"""Differences on purpose, one file per workload in a connector's `differences/`: under
`# reason`, one per line.

What is there must occur, and nothing else may: `docs/guides/differences.md` says why.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_LONGEST = 300  # characters of a difference that are kept as they are
_OBJECT = re.compile(r"(?<=LogicalDecodingMessageId)@[0-9a-f]+")


def brief(difference: str) -> str:
    """A difference on one line; a long one as its beginning and a digest of all of it."""
    difference = _OBJECT.sub("@…", difference.replace("\n", "\\n"))
    if len(difference) <= _LONGEST:
        return difference
    digest = hashlib.sha256(difference.encode()).hexdigest()
    return f"{difference[:_LONGEST]}… {digest[:16]}"


def on_purpose(folder: Path, workload: str) -> list[str]:
    """The differences of a workload of a connector's folder, briefly."""
    file = folder / "differences" / f"{workload}.txt"
    if not file.exists():
        return []
    lines = file.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("# ")]
