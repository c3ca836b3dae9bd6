"""A source process that a test kills: `python -m tests.connectors.killed_reader DIR`.

DIR has `properties.json`, and, as Spark's checkpoint would, `offsets` (planned ends, a line each)
and a file of records per range, which is there when the range is done.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.connectors.harness import ConnectorReader


def main(folder: Path) -> None:
    """Goes on where the last process was, until the snapshot is over."""
    run = ConnectorReader(json.loads((folder / "properties.json").read_text()))
    planned = folder / "offsets"
    if planned.exists():
        run.offsets += [json.loads(line) for line in planned.read_text().splitlines()]
    while True:
        number = len(run.offsets) - 1
        done = folder / f"{number}.json"
        if number and not done.exists():
            end = run.offsets.pop()
            part = folder / "part"
            part.write_text(json.dumps([str(record) for record in run.read(end)]))
            run.offsets.append(end)
            part.replace(done)
        if number and "snapshot" not in run.offsets[-1]:
            break
        end = run.plan(1)
        if end != run.offsets[-1]:
            with planned.open("a") as file:
                file.write(json.dumps(end) + "\n")
            run.offsets.append(end)
    run.stop()
    (folder / "over").touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
