"""JSON in properties: filters of collections, and stages of pipelines."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from headrace.connectors.mongodb.shell_json import parse_shell_json


def sendable(text: str) -> Any:
    """Parse `text`, JSON as MongoDB's shell accepts it: see `parse_shell_json`. If a driver is
    installed, also checks that it can encode the value. Raises ValueError with a sentence."""
    value = parse_shell_json(text)
    if value and find_spec("bson") is not None:
        # Configurations are described without a driver, whose import takes a while.
        from headrace.connectors.mongodb.extended_json import read_shell_json

        read_shell_json(text)
    return value
