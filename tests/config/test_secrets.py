"""Messages of drivers and servers without the passwords that they repeat."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.hidden import HiddenTexts
from headrace.config.secret import (
    HIDDEN,
    LONG,
    names_a_secret,
    passwords_in,
    secrets_in,
    without_passwords,
    without_secrets,
)

# Stars are what is shown in their place.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="*")
TEXTS = st.text(CHARACTERS, max_size=30)
WORDS = st.from_regex(r"[a-z0-9_]{1,12}", fullmatch=True)
SHORT = st.text(CHARACTERS, min_size=1, max_size=LONG - 1).filter(str.strip)
LONGER = st.text(CHARACTERS, min_size=LONG, max_size=20).filter(
    lambda text: len(text.strip()) >= LONG
)


def alone(secret: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(secret)}(?!\w)")


@given(TEXTS, LONGER, TEXTS)
def test_a_long_secret_is_in_no_message(before: str, secret: str, after: str) -> None:
    assert secret not in without_secrets(before + secret + after, [secret])


@given(TEXTS, SHORT, TEXTS, st.sampled_from(["", " ", "'", "=", ";", "@", '"']))
def test_a_short_secret_is_alone_in_no_message(
    before: str, secret: str, after: str, mark: str
) -> None:
    hidden_text = without_secrets(f"{before}{mark}{secret}{mark}{after}", [secret])
    assert alone(secret).search(hidden_text) is None


@given(st.lists(WORDS, min_size=1, max_size=8), st.from_regex(r"[a-z0-9]{1,7}", fullmatch=True))
def test_a_short_secret_changes_no_other_word(words: list[str], secret: str) -> None:
    shown_words = without_secrets(" ".join(words), [secret]).split(" ")
    assert shown_words == [HIDDEN if word == secret else word for word in words]


@given(st.lists(st.one_of(SHORT, LONGER), max_size=4), st.lists(TEXTS, max_size=4))
def test_several_secrets_are_hidden_at_once(secrets: list[str], texts: list[str]) -> None:
    pieces = [piece for pair in zip(texts, secrets, strict=False) for piece in pair]
    hidden_text = without_secrets("|".join(pieces), secrets)
    assert not any(secret in hidden_text for secret in secrets if len(secret) >= LONG)


@pytest.mark.parametrize("password", ["e", "db", "post", "es", "x"])
def test_a_password_that_is_a_part_of_words_does_not_mangle_them(password: str) -> None:
    words = "the database SHOP does not exist at postgresql://host/dbname"
    text = f'{words}; url "db2://u:{password}@host", pwd={password}, password: {password}'
    expected = f'{words}; url "db2://u:{HIDDEN}@host", pwd={HIDDEN}, password: {HIDDEN}'
    assert without_secrets(text, [password]) == expected


@given(st.text(CHARACTERS, min_size=LONG).filter(lambda text: len(text.strip()) >= LONG))
def test_a_secret_is_hidden_in_the_forms_that_messages_give_it(secret: str) -> None:
    for form in (
        quote(secret, safe=""),
        quote_plus(secret),
        repr(secret),
        " ".join(secret.split()),
        secret.replace("'", "''"),
    ):
        if len(form.strip("'\" ")) >= LONG:
            hidden_text = without_secrets(f"at {form} there", [secret])
            assert form.strip("'\" ") not in hidden_text


@pytest.mark.parametrize(
    "written", [repr, json.dumps, lambda text: json.dumps(text, ensure_ascii=False)]
)
def test_no_character_of_an_escaped_secret_is_left(written: Callable[[str], str]) -> None:
    secret = "\nlang\\und'geheim\"ß"
    hidden_text = without_secrets(f"<{written(secret)}>", [secret])
    assert hidden_text.strip("<>'\"") == HIDDEN


@pytest.mark.parametrize(
    ("text", "password"),
    [
        ("mongodb://u:p%40ss@h:1/db", "p@ss"),
        ("http://u:a@b/c@registry:8081", "a@b/c"),
        ("host=h password=hunter2 dbname=d", "hunter2"),
        ("host=h password='hun ter\\'2'", "hun ter'2"),
        ("SELECT dblink_exec('host=h password=hunter2', 'SELECT 1')", "hunter2"),
        ("DATABASE=d;UID=u;PWD=hunter2;", "hunter2"),
        ("scott/tiger@//h:1521/s", "tiger"),
        ("jdbc:thin:scott/tiger@//h:1521/s", "tiger"),
        ("ALTER ROLE r PASSWORD 'hunter2'", "hunter2"),
        ('CREATE USER u IDENTIFIED BY "hunter2"', "hunter2"),
        ("CONNECT TO u IDENTIFIED BY hunter2 USING 'x'", "hunter2"),
        ('{"user": "u", "password": "hun\\"ter"}', 'hun"ter'),
        ('PlainLoginModule required username="u" password="hunter2";', "hunter2"),
        ("tlsCertificateKeyFilePassword=hunter2&tls=true", "hunter2"),
        ("authMechanismProperties=AWS_SESSION_TOKEN:hunter2", "hunter2"),
    ],
)
def test_a_password_in_a_text_is_found(text: str, password: str) -> None:
    secrets = passwords_in(text)
    assert without_secrets(f"x {password} y", secrets) == f"x {HIDDEN} y"
    assert password not in without_passwords(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, password FROM users WHERE token = ? AND secret = :secret",
        "public.tokens:id,secret",
        "value.token == 'x' && value.password != null",
        "mongodb://h1:27017,h2:27017/?replicaSet=rs0",
        "INSERT INTO heartbeat VALUES (now())",
        "password=${env:CDC_PASSWORD}",
        "jdbc:thin:@//h:1521/s",
    ],
)
def test_a_text_without_passwords_is_shown(text: str) -> None:
    assert without_passwords(text) == text


def test_a_login_of_user_and_password_is_hidden_as_a_whole_and_its_password_alone() -> None:
    secrets = secrets_in("basic.auth.user.info", "ann:hunter2", is_secret=True)
    assert (
        without_secrets("ann:hunter2 or hunter2 of ann", secrets) == f"{HIDDEN} or {HIDDEN} of ann"
    )


def test_private_keys_are_secrets_and_hidden_line_by_line() -> None:
    for name in ("ssl.key.pem", "ssl.keystore.key", "ssl.key.password", "sasl.jaas.config"):
        assert names_a_secret(name)
    assert not names_a_secret("ssl.key.location")
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n-----END PRIVATE KEY-----\n"
    assert "MIIE" not in without_secrets("cannot read MIIEvQIBADAN", [key])


def test_an_answer_that_shows_a_part_of_a_secret_in_the_text_at_work_is_left_out() -> None:
    query = "SELECT dblink_exec('password=hunter2sales', 'x')"
    hidden = HiddenTexts.of_settings({"heartbeat.action.query": query, "other": "password=exist99"})
    answer = 'syntax error at or near "ter2sal"'
    assert "ter2" not in hidden.in_error(answer, about="heartbeat.action.query")
    plain = 'table "t" does not exist'
    assert hidden.in_error(plain, about="heartbeat.action.query") == plain


@pytest.mark.parametrize(
    "text",
    [
        "ALTER ROLE x PASSWORD E'hunter22abc'",
        "ALTER ROLE x PASSWORD U&'hunter22abc'",
        "ALTER ROLE x PASSWORD $$hunter22abc$$",
        "OPTIONS (password $x$hunter22abc$x$)",
        "dblink_connect_u('c','host=h password=''hunter22abc''')",
        "set_config('app.password','hunter22abc',false)",
        "SET my.password TO hunter22abc",
        "SET app.secret TO 'hunter22abc'",
        "f(password=>'hunter22abc')",
        "PASSWORD = N'hunter22abc'",
        "Authorization: Bearer hunter22abc",
        "user_info=u:hunter22abc",
    ],
)
def test_passwords_are_seen_in_the_forms_that_sql_and_clients_have(text: str) -> None:
    assert "hunter22abc" not in without_passwords(text)


def test_a_text_full_of_words_for_passwords_takes_time_in_proportion_to_its_length() -> None:
    """A quadratic search takes minutes for these texts."""
    for text in ("token" * 12_000, 'password="' * 6_000, "pwd=" * 15_000, "://a:" * 12_000):
        without_passwords(text)
    assert "characters" in without_passwords("pwd=x" * 250_000)
    many = ";".join(f"pwd=é{number}" for number in range(8_000))
    assert without_passwords("é17 is wrong", many) == (
        f"a text of {len(many)} characters, which may have passwords in it"
    )
