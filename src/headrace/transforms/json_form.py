"""Chains over records in Kafka Connect's JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.config.properties.compatibility import CompatibilityConfig
from headrace.config.properties.transforms import TransformsConfig
from headrace.config.source import Properties, read_mapping
from headrace.connect.json_records import read_records, write_records
from headrace.connect.records import Records
from headrace.errors import HeadraceError
from headrace.transforms.chain import Chain, Step
from headrace.transforms.reading import chain_of


def transforms_config(properties: Mapping[str, str]) -> TransformsConfig:
    """What properties say of transforms and predicates; others are left out.

    Raises HeadraceError as `Configuration.parse`.
    """
    given = properties if isinstance(properties, Properties) else read_mapping(properties)
    families = ("transforms", "predicates")
    own = {
        name: text
        for name, text in given.items()
        if name.partition(".")[0] in families or name in CompatibilityConfig.properties()
    }
    return TransformsConfig.parse(own)


def apply_json(
    properties: Mapping[str, str], entries: Sequence[Mapping[str, object]]
) -> list[dict[str, object] | None]:
    """See `headrace.transforms.apply_json`."""
    return run_chain(chain_of(transforms_config(properties)), entries)


def run_chain(
    chain: Chain, entries: Sequence[Mapping[str, object]]
) -> list[dict[str, object] | None]:
    """What a chain makes of each record: it, None when it was dropped, or its error."""
    errors: dict[int, HeadraceError] = {}

    def failed(original: Records, _step: Step, error: HeadraceError) -> None:
        errors[int(original.place[0])] = error

    records = read_records(entries, errors.__setitem__)
    made = write_records(chain(records, failed))
    return [
        {"error": str(errors[place])} if place in errors else made.get(place)
        for place in range(len(entries))
    ]
