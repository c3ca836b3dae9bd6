"""Names that are all but certainly another one's, and names that others have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.suggestions import (
    Suggestions,
    _elsewhere,
    distance,
    is_elsewhere,
    nearest,
)
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.postgresql.config import PostgresConfig

POSTGRES = Suggestions(PostgresConfig.properties(), PostgresConfig.families())
MONGO = Suggestions(MongoConfig.properties(), MongoConfig.families())
WORDS = st.text("abc.", max_size=8)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("table.inclde.list", "table.include.list"),
        ("tabel.include.list", "table.include.list"),
        ("table.include.lists", "table.include.list"),
        ("tableIncludeList", "table.include.list"),
        ("databse.hostnam", "database.hostname"),
        ("transform", "transforms"),
        ("topic.prefx", "topic.prefix"),
        ("slot_name", "slot.name"),
        ("tables.include", "table.include.list"),  # without its last word
        ("heartbeat.interval", "heartbeat.interval.ms"),
        ("publicaton.autocreate", "publication.autocreate.mode"),
    ],
)
def test_a_name_with_a_slip_is_the_one_that_it_was_meant_to_be(name: str, meant: str) -> None:
    assert POSTGRES.find_typo(name) == meant


@pytest.mark.parametrize(
    "name",
    [
        "include.list",  # an ending that several names share
        "snapshot.mode.configuration.based.snapshot.on",  # a beginning that several names share
        "schema.list",
        "table.owner",
        "names",
        "database.include.list",  # of other connectors
        "topics.regex",  # of a worker's sink connectors
        "spark.sql.shuffle.partitions",
        "offset.flush.timeout.ms",
        "heartbeat.topics.prefix",  # of Debezium, and no longer read
        "something.else.entirely",
    ],
)
def test_what_several_names_share_and_a_name_of_others_are_no_slips(name: str) -> None:
    assert POSTGRES.find_typo(name) is None


def test_a_name_of_another_connector_is_no_slip_though_it_is_near() -> None:
    assert is_elsewhere("field.include.list")
    assert MONGO.find_typo("field.include.list") is None
    assert MONGO.find_typo("field.exclud.list") == "field.exclude.list"


@pytest.mark.parametrize("suggestions", [POSTGRES, MONGO])
def test_no_name_of_others_begins_the_name_of_a_property(
    suggestions: Suggestions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Almost no name that is honestly unknown gets a suggestion, which would make it an error."""
    others = _elsewhere()
    assert len(others) > 800
    monkeypatch.setattr("headrace.config.suggestions.is_elsewhere", lambda _name: False)
    begun = {name for name in others if suggestions._begun(name)}
    assert begun <= {*suggestions._plain.values(), "offset.storage"}


@pytest.mark.parametrize("config", [PostgresConfig, MongoConfig])
def test_no_declared_name_is_a_slip_of_another_one(config: type[PostgresConfig]) -> None:
    suggestions = Suggestions(config.properties(), config.families())
    for name in config.properties():
        assert suggestions.find_typo(name) in (None, name)


def test_the_nearest_value_is_the_one_with_the_fewest_slips() -> None:
    assert nearest("initail", ("initial", "initial_only", "no_data")) == "initial"
    assert nearest("NO_DAT", ("initial", "no_data")) == "no_data"
    assert nearest("x", ("initial", "no_data")) is None


@given(WORDS, WORDS)
def test_the_distance_is_symmetric_bounded_and_zero_for_equals(one: str, other: str) -> None:
    assert distance(one, other, 2) == distance(other, one, 2)
    assert (distance(one, other, 2) == 0) == (one == other)
    assert distance(one, other, 2) <= 3


@given(WORDS, st.integers(0, 7), st.sampled_from("abc."))
def test_one_letter_more_less_or_other_is_a_distance_of_one_at_most(
    word: str, place: int, letter: str
) -> None:
    at = min(place, len(word))
    assert distance(word, word[:at] + letter + word[at:], 2) == 1
    assert distance(word, word[:at] + letter + word[at + 1 :], 2) <= 1
    swapped = word[:at] + word[at : at + 2][::-1] + word[at + 2 :]
    assert distance(word, swapped, 2) <= 1
