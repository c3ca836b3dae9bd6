"""Configurations as files, for tests of verbs that only read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

SHOP = {
    "connector.class": "postgresql",
    "topic.prefix": "shop",
    "database.hostname": "localhost",
    "database.user": "cdc",
    "database.dbname": "shop",
}


def written(file: Path, properties: Mapping[str, str]) -> str:
    """The path of a properties file that holds `properties`."""
    file.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
    return str(file)
