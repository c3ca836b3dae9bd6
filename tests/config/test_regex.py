import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.filters import NameFilter
from headrace.config.regex import compile_java_regex, split_regex_list


@pytest.mark.parametrize(
    ("regex", "name"),
    [
        ("inventory.*", "inventory.orders"),
        ("inventory\\.orders", "Inventory.ORDERS"),
        ("\\Qa.b\\E.c", "a.bxc"),
        ("\\p{Upper}\\p{Alnum}++", "Ab1"),
        ("(?<x>a)\\k<x>", "aa"),
        ("[\\p{Lower}--]+", "ab-"),
        ("[^.]+[.]t", "s.t"),
        ("a{1,3}", "aaa"),
        ("\\PLa", "1a"),
        ("a\\z", "a"),
        ("a\\{[{]{2,}", "a{{{"),
        ("(?s:a.)(?=b)b(?<!c)", "a\nb"),
        ("(?>a|b)(?i-s:c)", "bC"),
    ],
)
def test_a_java_expression_matches_the_name(regex: str, name: str) -> None:
    assert compile_java_regex(regex).fullmatch(name)


@pytest.mark.parametrize(
    "regex",
    [
        "a[", "(", "[a&&[b]]", "[a[b]]", "*", "\\p{Greek}", "a{2,1}",
        # What Python takes and Java does not.
        "{", "a{", "s\\.t{,2}", "a{x}", "a{2", "s.t(?#c)", "(?P<x>a)", "(?a:b)", "(a)(?(1)b|c)",
        "\\U00000041", "\\0",
    ],
)  # fmt: skip
def test_a_bad_expression_is_named(regex: str) -> None:
    with pytest.raises(ValueError, match="is not a regular expression") as raised:
        compile_java_regex(regex)
    assert repr(regex) in str(raised.value)


@given(st.text(alphabet="ab[](){}^$.*+?|\\&-~,pPQEkxuU<>=!:01#"))
def test_any_text_compiles_or_is_a_value_error(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            compile_java_regex(text)
        except ValueError:
            return


def test_lists_split_at_commas_outside_of_brackets() -> None:
    assert split_regex_list(r" a{1,2}, [,x] ,b\,c,(d,e),, ") == [
        "a{1,2}",
        "[,x]",
        "b,c",
        "(d,e)",
    ]


def test_a_filter_is_anchored_and_ignores_case() -> None:
    names = NameFilter(include=("s.t",))
    assert names.accepts("S.T")
    assert not names.accepts("s.t2")
    assert not names.accepts("xs.t")


def test_an_empty_filter_takes_everything_and_an_excluded_name_is_never_taken() -> None:
    assert NameFilter().accepts("s.t")
    assert not NameFilter(exclude=("s.*",)).accepts("s.t")


def test_position_is_that_of_the_first_matching_expression() -> None:
    names = NameFilter(include=("s.b", "s.*"))
    assert [names.position(name) for name in ("s.b", "s.a", "t.a")] == [0, 1, 2]
