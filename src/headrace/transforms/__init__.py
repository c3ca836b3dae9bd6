"""Single message transforms: Debezium's and Kafka Connect's, on Records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["apply_json"]


def apply_json(
    properties: Mapping[str, str], records: Sequence[Mapping[str, object]]
) -> list[dict[str, object] | None]:
    """Records in Kafka Connect's JSON form through the transforms of `properties`, and back.

    `properties` are those of a connector; only what belongs to transforms and predicates counts. A
    record has `topic`, `partition`, `timestamp`, `key`, `value` and `headers`; key and value are
    `{"schema": …, "payload": …}`, or null when there is neither, and a header is `{"name": …,
    "schema": …, "payload": …}`. The answer has one entry per record: the record as it is behind the
    chain, None when it was dropped, or `{"error": …}` with what was wrong with it.

    Raises HeadraceError when the properties are wrong, naming all that is wrong with them.
    """
    from headrace.transforms.json_form import apply_json as applied

    return applied(properties, records)
