"""The transactions whose ids wrap around that a snapshot sees, and those that were delivered before
it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.rows import NULL
from headrace.connectors.postgresql import visibility
from headrace.connectors.postgresql.visibility import DeliveredTransactions, VisibleTransactions

WRAP = 1 << 32
# Ids near the places where the 32-bit counter begins again, and where its sign would change.
around = st.one_of(
    *(st.integers(place - 50, place + 50) for place in (WRAP, 3 * WRAP, WRAP + (1 << 31))),
    st.integers(100, 1 << 60),
)


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[VisibleTransactions, frozenset[int]]:
    xmax = draw(around)
    running = frozenset(draw(st.lists(st.integers(max(3, xmax - 40), xmax - 1), max_size=5)))
    xmin = min(running, default=xmax)
    text = f"{xmin}:{xmax}:{','.join(map(str, sorted(running)))}"
    return VisibleTransactions(text), running


@given(snapshots(), st.lists(st.integers(-(1 << 31) + 1, (1 << 31) - 1), min_size=1))
def test_ids_of_the_log_are_the_nearest_64_bit_ids(
    snapshot_and_running: tuple[VisibleTransactions, frozenset[int]], distances: list[int]
) -> None:
    snapshot, _ = snapshot_and_running
    wide = np.array([snapshot.xmax + distance for distance in distances])
    assert snapshot.widen(wide & (WRAP - 1)).tolist() == wide.tolist()
    # The log's ids are unsigned; a reader may have taken them for signed ones.
    signed = (wide & (WRAP - 1)).astype(np.uint32).astype(np.int32).astype(np.int64)
    assert snapshot.widen(signed).tolist() == wide.tolist()


@given(snapshots(), st.lists(st.integers(-60, 60), min_size=1))
def test_a_snapshot_hides_what_runs_or_begins_later(
    snapshot_and_running: tuple[VisibleTransactions, frozenset[int]], distances: list[int]
) -> None:
    snapshot, running = snapshot_and_running
    wide = [snapshot.xmax + distance for distance in distances]
    expected = [xid >= snapshot.xmax or xid in running for xid in wide]
    assert snapshot.hides_ids(np.array(wide) & (WRAP - 1)).tolist() == expected


class Server:
    """Transactions in the order in which they begin; some are not visible yet."""

    def __init__(self, first: int) -> None:
        self.next, self.running = first, set[int]()

    def begin(self) -> int:
        self.running.add(self.next)
        self.next += 1
        return self.next - 1

    # What `DeliveredTransactions` asks.

    def next_xid(self) -> int:
        return self.next

    def visible(self) -> VisibleTransactions:
        running = sorted(self.running)
        return VisibleTransactions(
            f"{min([*running, self.next])}:{self.next}:{','.join(map(str, running))}"
        )


@given(st.integers(WRAP - 20, WRAP + 5), st.data())
def test_delivered_transactions_are_visible_when_every_one_of_them_is(
    first: int, data: st.DataObject
) -> None:
    server = Server(first)
    earlier = {server.begin() for _ in range(data.draw(st.integers(0, 3)))}
    delivered = DeliveredTransactions(server.next_xid, server.visible)
    delivered.begin()
    in_log: set[int] = set()
    for _ in range(data.draw(st.integers(1, 15))):
        match data.draw(st.sampled_from(["begin", "deliver", "end", "ask"])):
            case "begin":
                server.begin()
            case "deliver" if server.running:
                # In the log, and no snapshot sees it yet.
                xid = data.draw(st.sampled_from(sorted(server.running)))
                in_log.add(xid)
                delivered.add_ids(np.array([xid & (WRAP - 1), NULL]))
            case "end" if server.running:
                server.running.discard(data.draw(st.sampled_from(sorted(server.running))))
            case "ask":
                # What an earlier process delivered may be any transaction begun before.
                expected = not server.running & (in_log | earlier)
                assert delivered.are_visible() is expected
                if expected:
                    earlier.clear()


def test_what_somebody_else_delivered_must_have_ended() -> None:
    server = Server(100)
    delivered = DeliveredTransactions(server.next_xid, server.visible)
    delivered.begin()
    assert delivered.are_visible()
    open_before = server.begin()
    delivered.forget()
    assert not delivered.are_visible()
    server.running.discard(open_before)
    server.begin()
    assert delivered.are_visible()


def test_ids_that_are_settled_are_forgotten() -> None:
    server = Server(100)
    delivered = DeliveredTransactions(server.next_xid, server.visible)
    delivered.begin()
    server.next += 3 * visibility._SETTLES_AT
    for start in range(100, server.next, 1000):
        delivered.add_ids(np.arange(start, min(start + 1000, server.next)))
        assert len(delivered._xids) <= visibility._SETTLES_AT + 1000
    assert delivered.are_visible()
    assert len(delivered._xids) == 0
