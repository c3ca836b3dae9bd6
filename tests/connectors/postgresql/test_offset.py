from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.connectors.postgresql.offset import LARGEST_EPOCH, Offset
from headrace.errors import HeadraceError


def test_an_epoch_that_sequence_cannot_show_is_refused() -> None:
    last = Offset("headrace", LARGEST_EPOCH, lsn_commit=1)
    assert f"{last.epoch:04x}" == "ffff"
    with pytest.raises(HeadraceError, match=r"offset\.epochs_used_up"):
        replace(last, epoch=last.epoch + 1)
    with pytest.raises(HeadraceError, match=r"offset\.epochs_used_up"):
        Offset.from_json(last.to_json() | {"epoch": LARGEST_EPOCH + 1}, "headrace")
