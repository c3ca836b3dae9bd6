"""Truncation, masks, hashes: which rule a column has, and what texts become."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.debezium.column_rules import (
    ColumnRules,
    Hash,
    Mask,
    Propagate,
    Truncate,
    by_column,
    by_type,
    hash_algorithm,
    java_serialized,
    truncated,
)

texts = st.text(st.characters(codec="utf-8")) | st.text("ab\u00e9\u20ac\U0001f600")


def test_the_first_rule_that_names_a_column_is_its_rule() -> None:
    rules = ColumnRules(
        (
            (by_column([re.compile(r"s\.t\.a")]), Truncate(3)),
            (by_column([re.compile(r"s\.t\.[ab]")]), Mask(3)),
            (by_type([re.compile(r"s\.t\.text")]), Propagate()),
        )
    )
    assert rules.rule_for("s.t.a", "s.t.text") == Truncate(3)
    assert rules.rule_for("s.t.b", "s.t.text") == Mask(3)
    assert rules.rule_for("s.t.c", "s.t.text") == Propagate()
    assert rules.rule_for("s.t.c", "s.t.int4") is None


@given(texts, st.integers(0, 60))
def test_a_truncated_text_is_the_longest_beginning_that_fits(text: str, length: int) -> None:
    cut = truncated(text, length)
    assert text.startswith(cut)
    assert len(cut.encode("utf-16-le")) <= 2 * length
    if cut != text:
        longer = text[: len(cut) + 1]
        assert len(longer.encode("utf-16-le")) > 2 * length


@given(texts, st.text(st.characters(codec="utf-8"), min_size=1))
def test_version_two_hashes_salt_and_utf8(text: str, salt: str) -> None:
    expected = hashlib.sha256(salt.encode() + text.encode()).hexdigest()
    assert Hash("sha256", salt).digest(text) == expected


def test_java_writes_a_string_with_its_length_in_modified_utf8() -> None:
    assert java_serialized("") == bytes.fromhex("aced0005740000")
    assert java_serialized("a\0") == bytes.fromhex("aced000574000361c080")
    assert java_serialized("\U0001f600") == bytes.fromhex("aced0005740006eda0bdedb880")
    assert java_serialized("x" * 65536)[:13] == bytes.fromhex("aced00057c0000000000010000")


@pytest.mark.parametrize(
    ("java", "python"),
    [
        ("SHA-256", "sha256"),
        ("sha-512", "sha512"),
        ("SHA-1", "sha1"),
        ("SHA", "sha1"),
        ("MD5", "md5"),
        ("SHA3-256", "sha3_256"),
        ("SHA-512/256", "sha512_256"),
        ("no such thing", None),
    ],
)
def test_algorithms_have_their_java_names(java: str, python: str | None) -> None:
    assert hash_algorithm(java) == python


def test_a_salt_is_not_shown() -> None:
    assert "pepper" not in repr(Hash("md5", "pepper"))
