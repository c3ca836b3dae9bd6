"""Functions that tests of the command line share."""

from __future__ import annotations

import json
from pathlib import Path

from tests.servers.sources import Source


def configuration(source: Source, **more: str) -> dict[str, str]:
    """Properties of a connector whose events are JSON without schemas; `more` uses `_` for `.`."""
    return {
        **source.properties(),
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def properties(source: Source, **more: str) -> str:
    """The properties as the text of a properties file."""
    lines = configuration(source, **more)
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def rows_of(output: Path) -> list[dict]:
    """The lines of an output file that are whole: a part may be on its way into it right now."""
    content = output.read_text() if output.exists() else ""
    return [json.loads(line) for line in content[: content.rfind("\n") + 1].splitlines()]
