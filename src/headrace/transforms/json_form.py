"""Runs chains over records in Kafka Connect's JSON form."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from headrace.config.finding import error_of
from headrace.config.formats import Properties, read_mapping
from headrace.config.properties.frames import ChainConfig
from headrace.connect.json_records import read_records, write_records
from headrace.connect.records import Records
from headrace.errors import HeadraceError
from headrace.transforms.chain import Chain, ChainStep
from headrace.transforms.reading import ReadChain, examine_chain

log = logging.getLogger(__name__)


def read_chain(properties: Mapping[str, str]) -> Chain:
    """Return the chain of a configuration without the connector's properties; logs its warnings.
    Raises HeadraceError as `examine_properties`."""
    examined = examine_properties(properties)
    for warning in examined.warnings:
        log.warning("%s", warning)
    return examined.chain


def examine_properties(properties: Mapping[str, str]) -> ReadChain:
    """Return the chain of a configuration without the connector's properties, and its warnings.

    Raises HeadraceError("config.invalid") with all problems of transforms, predicates, converters
    and the handling of failed records.
    """
    parsed = properties if isinstance(properties, Properties) else read_mapping(properties)
    config, problems = ChainConfig.examine(ChainConfig.concerned(parsed))
    examined = examine_chain(config)
    problems = [*parsed.problems, *problems, *examined.problems]
    if problems:
        raise error_of(problems)
    return examined


def apply_json(
    properties: Mapping[str, str], entries: Sequence[Mapping[str, object]]
) -> list[dict[str, object] | None]:
    """See `headrace.transforms.apply_json`."""
    return run_chain(read_chain(properties), entries)


def run_chain(
    chain: Chain, entries: Sequence[Mapping[str, object]]
) -> list[dict[str, object] | None]:
    """Return the result of a chain for each record: the record, None if it was dropped, or its
    error."""
    errors: dict[int, HeadraceError] = {}

    def failed(original: Records, _step: ChainStep, error: HeadraceError) -> None:
        errors[int(original.place[0])] = error

    records = read_records(entries, errors.__setitem__)
    written = write_records(chain(records, failed), errors.__setitem__)
    return [
        {"error": str(errors[place])} if place in errors else written.get(place)
        for place in range(len(entries))
    ]
