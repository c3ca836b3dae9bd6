"""What a snapshot sees of transactions whose ids wrap around, and what was delivered before it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.rows import NULL
from headrace.connectors.postgresql.reading import delivered
from headrace.connectors.postgresql.reading.delivered import Delivered
from headrace.connectors.postgresql.window import Snapshot8

WRAP = 1 << 32
# Ids near the places where the 32-bit counter begins anew, and where its sign would change.
around = st.one_of(
    *(st.integers(place - 50, place + 50) for place in (WRAP, 3 * WRAP, WRAP + (1 << 31))),
    st.integers(100, 1 << 60),
)


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[Snapshot8, frozenset[int]]:
    xmax = draw(around)
    running = frozenset(draw(st.lists(st.integers(max(3, xmax - 40), xmax - 1), max_size=5)))
    xmin = min(running, default=xmax)
    text = f"{xmin}:{xmax}:{','.join(map(str, sorted(running)))}"
    return Snapshot8(text), running


@given(snapshots(), st.lists(st.integers(-(1 << 31) + 1, (1 << 31) - 1), min_size=1))
def test_ids_of_the_log_are_the_nearest_64_bit_ids(
    made: tuple[Snapshot8, frozenset[int]], distances: list[int]
) -> None:
    snapshot, _ = made
    wide = np.array([snapshot.xmax + distance for distance in distances])
    assert snapshot.widen(wide & (WRAP - 1)).tolist() == wide.tolist()
    # The log's ids are unsigned; a reader may have taken them for signed ones.
    signed = (wide & (WRAP - 1)).astype(np.uint32).astype(np.int32).astype(np.int64)
    assert snapshot.widen(signed).tolist() == wide.tolist()


@given(snapshots(), st.lists(st.integers(-60, 60), min_size=1))
def test_a_snapshot_hides_what_runs_or_begins_later(
    made: tuple[Snapshot8, frozenset[int]], distances: list[int]
) -> None:
    snapshot, running = made
    wide = [snapshot.xmax + distance for distance in distances]
    expected = [xid >= snapshot.xmax or xid in running for xid in wide]
    assert snapshot.hides(np.array(wide) & (WRAP - 1)).tolist() == expected


class Server:
    """Transactions in the order in which they begin; some are not visible yet."""

    def __init__(self, first: int) -> None:
        self.next, self.running = first, set[int]()

    def begin(self) -> int:
        self.running.add(self.next)
        self.next += 1
        return self.next - 1

    # What `Delivered` asks of a ChunkReader.

    def next_xid(self) -> int:
        return self.next

    def visible(self) -> Snapshot8:
        running = sorted(self.running)
        return Snapshot8(f"{min([*running, self.next])}:{self.next}:{','.join(map(str, running))}")


@given(st.integers(WRAP - 20, WRAP + 5), st.data())
def test_delivered_transactions_are_visible_when_every_one_of_them_is(
    first: int, data: st.DataObject
) -> None:
    server = Server(first)
    earlier = {server.begin() for _ in range(data.draw(st.integers(0, 3)))}
    known = Delivered(server)  # type: ignore[arg-type]
    known.begin()
    in_log: set[int] = set()
    for _ in range(data.draw(st.integers(1, 15))):
        match data.draw(st.sampled_from(["begin", "deliver", "end", "ask"])):
            case "begin":
                server.begin()
            case "deliver" if server.running:
                # In the log, and no snapshot sees it yet.
                xid = data.draw(st.sampled_from(sorted(server.running)))
                in_log.add(xid)
                known.add(np.array([xid & (WRAP - 1), NULL]))
            case "end" if server.running:
                server.running.discard(data.draw(st.sampled_from(sorted(server.running))))
            case "ask":
                # What an earlier process delivered may be any transaction begun before.
                expected = not server.running & (in_log | earlier)
                assert known.are_visible() is expected
                if expected:
                    earlier.clear()


def test_what_somebody_else_delivered_must_have_ended() -> None:
    server = Server(100)
    known = Delivered(server)  # type: ignore[arg-type]
    known.begin()
    assert known.are_visible()
    open_before = server.begin()
    known.forget()
    assert not known.are_visible()
    server.running.discard(open_before)
    server.begin()
    assert known.are_visible()


def test_ids_that_are_settled_are_forgotten() -> None:
    server = Server(100)
    known = Delivered(server)  # type: ignore[arg-type]
    known.begin()
    server.next += 3 * delivered._MOST
    for start in range(100, server.next, 1000):
        known.add(np.arange(start, min(start + 1000, server.next)))
        assert len(known._xids) <= delivered._MOST + 1000
    assert known.are_visible()
    assert len(known._xids) == 0
