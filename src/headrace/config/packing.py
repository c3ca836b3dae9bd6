"""Packs a configuration into options whose names survive Spark's lower-casing."""

from __future__ import annotations

import json
from collections.abc import Mapping

from headrace.config.formats import PACKED, as_text


def pack(properties: Mapping[str, object]) -> dict[str, str]:
    """Return `{"headrace.config": <JSON text>}`, for `.options(**…)`.

    Values may be texts, numbers and booleans; None leaves a property out. References such as
    `${env:NAME}` stay references, so that no secret enters a Spark plan.
    Raises HeadraceError("config.invalid") for lists and objects.
    """
    texts = {name: as_text(name, v) for name, v in properties.items() if v is not None}
    return {PACKED: json.dumps(texts, ensure_ascii=False)}
