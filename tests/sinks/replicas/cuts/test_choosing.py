"""The cut that a reader gets, of one query and of several."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.errors import HeadraceError
from headrace.sinks.replicas.cuts.choosing import QueryCuts, choose
from headrace.sinks.replicas.cuts.cut import Cut
from headrace.sinks.replicas.lake import TableName
from tests.sinks.replicas.cuts.test_cut_logs import A, B, cut, opened


def query(*places: int, name: str = "state") -> QueryCuts:
    """Cuts at these places, a second apart by the clock of the source."""
    cuts = [
        Cut(batch, place, f"0/{place:X}", "system", place * 1000, batch, {A: str(batch)})
        for batch, place in enumerate(places)
    ]
    return QueryCuts(Path(name), cuts)


def code(*queries: QueryCuts, at: datetime | str | int | None = None) -> str:
    """The code of the error of a choice."""
    with pytest.raises(HeadraceError) as caught:
        choose(queries, at)
    return caught.value.code


_PLACES = st.lists(st.integers(1, 20), min_size=1, max_size=12).map(sorted)


@given(of_queries=st.lists(_PLACES, min_size=1, max_size=3), second=st.none() | st.integers(0, 21))
def test_the_latest_place_that_all_queries_have_until_a_time_is_chosen(
    of_queries: list[list[int]], second: int | None
) -> None:
    queries = [query(*places, name=str(number)) for number, places in enumerate(of_queries)]
    at = None if second is None else datetime.fromtimestamp(second, UTC)
    common_places = [
        place
        for place in range(1, 21)
        if all(place in places for places in of_queries) and (second is None or place <= second)
    ]
    if not common_places:
        assert code(*queries, at=at) in ("replicas.no_cut", "replicas.no_common_cut")
        return
    chosen = choose(queries, at)
    assert {each.place for each in chosen} == {common_places[-1]}
    # Of micro-batches without changes in between, it is the last one.
    assert [each.batch for each in chosen] == [
        len(places) - 1 - places[::-1].index(common_places[-1]) for places in of_queries
    ]


def test_a_position_or_a_place_names_one_cut() -> None:
    assert choose([query(1, 10, 20)], "0/A")[0].batch == 1
    assert choose([query(1, 10, 20)], 10)[0].batch == 1
    assert code(query(1, 10, 20), at="0/B") == "replicas.no_cut"


def test_a_query_without_cuts_and_another_database_are_errors() -> None:
    assert code(QueryCuts(Path("state"), [])) == "replicas.no_cut"
    other = QueryCuts(Path("b"), [Cut(1, 1, "0/1", "other", 0, 0, {})])
    assert code(query(1), other) == "replicas.other_source"
    assert code(query(1), query(2)) == "replicas.no_common_cut"


def test_versions_are_found_by_the_folder_of_the_query_or_its_checkpoint(tmp_path: Path) -> None:
    state = tmp_path / "state" / "delta"
    state.mkdir(parents=True)
    (tmp_path / "state" / "checkpoint").mkdir()
    log = opened(state)
    log.add(cut(1, 5, versions={A: "7", B: ""}))
    log.add(cut(2, 1, versions={A: "8", B: ""}, time_ms=2000))
    for folder in (tmp_path / "state", tmp_path / "state" / "checkpoint"):
        consistent_cut = headrace.consistent_versions(folder)
        assert consistent_cut.versions == {"shop.a": 8, "shop.x.y.b": None}
        assert (consistent_cut.position, consistent_cut.time) == (
            "0/2",
            datetime.fromtimestamp(2, UTC),
        )
    earlier = headrace.consistent_versions(tmp_path / "state", ["shop.a"], at="0/1")
    assert earlier.versions == {"shop.a": 7}
    assert earlier.expires < consistent_cut.expires
    both = headrace.consistent_versions(tmp_path / "state", at=earlier)
    assert both.versions["shop.a"] == 7


def test_a_table_that_the_last_cut_lacks_is_an_error_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "delta").mkdir()
    log = opened(tmp_path / "delta")
    log.add(cut(1, versions={A: "7", B: "3"}))
    log.add(cut(2, versions={A: "8"}, missing={B: "its replication has stopped (replicas.x)"}))

    def failing(*tables: str) -> HeadraceError:
        with pytest.raises(HeadraceError) as caught:
            headrace.consistent_versions(tmp_path, list(tables) or None)
        return caught.value

    message_pattern = r"lacks tables: shop\.x\.y\.b: its replication has stopped \(replicas\.x\)"
    for error in (failing(), failing("shop.a", "shop.x.y.b")):
        assert error.code == "replicas.table_not_in_cut"
        with pytest.raises(HeadraceError, match=message_pattern):
            raise error
    assert failing("shop.z").code == "replicas.no_such_table"
    assert headrace.consistent_versions(tmp_path, ["shop.a"]).versions == {"shop.a": 8}
    assert headrace.consistent_versions(tmp_path, at="0/1").versions == {
        "shop.a": 7, "shop.x.y.b": 3
    }  # fmt: skip
    with pytest.raises(HeadraceError, match="no query into replicas has recorded one"):
        headrace.consistent_versions(tmp_path / "elsewhere" / "state")


def test_tables_of_two_queries_have_a_cut_where_both_ended_a_micro_batch(tmp_path: Path) -> None:
    other = TableName((), "c")
    for name, table, batches in (("first", A, (1, 2, 3)), ("second", other, (2, 4))):
        state = tmp_path / name / "delta"
        state.mkdir(parents=True)
        log = opened(state)
        for batch in batches:
            log.add(cut(batch, versions={table: str(batch)}))
    folders = [tmp_path / "first", tmp_path / "second"]
    consistent_cut = headrace.consistent_versions(folders)
    assert (consistent_cut.position, consistent_cut.versions) == ("0/2", {"shop.a": 2, "c": 2})
    with pytest.raises(HeadraceError, match=r"More than one of the queries has a table shop\.a"):
        headrace.consistent_versions([folders[0], folders[0]])
