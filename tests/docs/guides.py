"""Parts of the guides of all databases: an example in Spark, properties, a table of failures."""

from __future__ import annotations

import ast
import re

import headrace
from headrace.config.formats import Properties, read_text
from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.registry import parse_configuration, parse_options
from tests.docs.pages import ROOT, blocks


def properties_of(page: str) -> Properties:
    """The first properties of a page, whose references are there."""
    return read_text(blocks(page, "properties")[0].text)


def check_example_in_spark(page: str, *same: str) -> ConnectorConfig:
    """The first block of Python has properties that are taken without a warning, and `same` of them
    are those of the page's first properties. The configuration of the former."""
    example = ast.parse(blocks(page, "python")[0].text)
    (properties,) = (
        ast.literal_eval(node) for node in ast.walk(example) if isinstance(node, ast.Dict)
    )
    config = parse_options(headrace.options(properties))
    written = parse_configuration(properties_of(page))
    assert config.warnings == ()
    assert type(config) is type(written)
    for name in same:
        assert getattr(config, name) == getattr(written, name)
    return config


def codes_of_failures(page: str) -> set[str]:
    """The codes of errors in the first column of a guide's table of failures."""
    table = (ROOT / page).read_text().split("## Failures")[1].split("\n## ")[0]
    cells = re.findall(r"^\|([^|]*)\|", table, re.M)
    return set(re.findall(r"`(\w+\.\w+)`", "".join(cells)))
