"""JSON in properties: filters of collections, and stages of pipelines."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from headrace.connectors.mongodb.shell_json import parse_shell_json


def sendable(text: str) -> Any:
    """The value that `text` holds, JSON as MongoDB's shell takes it: see `parse_shell_json`. The
    driver can send it to a server, as far as one is installed to say so. Raises ValueError with a
    sentence."""
    value = parse_shell_json(text)
    if value and find_spec("bson") is not None:
        # Configurations are described without a driver, and it takes a while to load.
        from headrace.connectors.mongodb.extended_json import read_shell_json

        read_shell_json(text)
    return value
