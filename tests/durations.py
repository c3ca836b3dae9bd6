"""`python -m tests.durations build/tests.xml`: what the tests of a run took, in seconds: folders,
files, and the slowest tests. `.ci/run` writes that file."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree as ET

_SHOWN = 60


def main(path: str) -> None:
    """Print seconds (tests of workers beside each other are added up) by folder, file and test."""
    folders: defaultdict[str, float] = defaultdict(float)
    files: defaultdict[str, float] = defaultdict(float)
    tests: defaultdict[str, float] = defaultdict(float)
    for case in ET.parse(Path(path)).iter("testcase"):
        seconds = float(case.get("time", 0))
        parts = str(case.get("classname")).split(".")
        folders["/".join(parts[:3] if len(parts) > 3 else parts[:2])] += seconds
        files["/".join(parts)] += seconds
        tests[f"{parts[-1]}::{case.get('name')}"] += seconds
    for title, counts in {"folders": folders, "files": files, "tests": tests}.items():
        print(f"{title}: {sum(counts.values()):.0f} s in {len(counts)}")
        for name, seconds in sorted(counts.items(), key=lambda entry: -entry[1])[:_SHOWN]:
            print(f"{seconds:8.1f}  {name}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
