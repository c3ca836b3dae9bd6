"""Messages of drivers and servers without the passwords that they repeat."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.secret import Secret, without_secrets


@pytest.mark.parametrize("password", ["x", "es", "not", "does", "exist"])
def test_a_password_that_is_a_part_of_words_is_neither_told_nor_mangles_them(password: str) -> None:
    text = f'the database SHOP does not exist; url "db2://u:{password}@host", pwd={password}'
    shown = 'the database SHOP does not exist; url "db2://u:***@host", pwd=***'
    assert without_secrets(text, Secret(password), {}) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password: ab", "password: ***"),
        ("password 'ab' is wrong", "password '***' is wrong"),
        ("ab", "***"),
        ("PWD=ab;UID=u", "PWD=***;UID=u"),
        ("tables, above all", "tables, above all"),
    ],
)
def test_a_short_password_is_hidden_where_values_stand(text: str, shown: str) -> None:
    assert without_secrets(text, Secret("ab"), {}) == shown


@given(st.text(min_size=4), st.text(max_size=9), st.text(max_size=9))
def test_other_passwords_are_hidden_everywhere(secret: str, before: str, after: str) -> None:
    secret = f"{secret}7-"
    assert secret not in without_secrets(before + secret + after, Secret(secret), {})
