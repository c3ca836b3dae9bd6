"""Regular expressions that hang on no text, and mean in RE2 what they mean in Python."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.regex import compile_java_regex, compile_java_replacement, compile_like
from headrace.config.regex.linear import NoLinearForm, linear_form, parsed

HOSTILE = [r"(a+)+b", r"(a|a)*b", r"(?:a*)*b", r"(a|aa){30}b", "a?" * 40 + "b"]


@pytest.mark.parametrize("text", HOSTILE)
def test_an_expression_that_backtracks_for_ever_is_answered(text: str) -> None:
    expression = compile_java_regex(text)
    assert not expression.fullmatch("a" * 200)
    assert expression.matches(["a" * 5_000, None], whole=False).to_pylist() == [False, None]
    assert expression.replaced("a" * 200, lambda _groups: "x") == "a" * 200


@pytest.mark.parametrize("text", [r"(a+)+(?=b)c", r"(a|a)*\1b", r"(a|aa)+$b", r"(?!x)(a*)*b"])
def test_what_could_take_for_ever_and_has_no_form_in_re2_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="it could take for ever"):
        compile_java_regex(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (r"^(?!shop\.tmp_).*$", "shop.orders"),
        (r"(?!.*(?:secret|internal)).*\.(.*)\.(.*)", "s.public.orders"),
        (r"(\w)\1\.x", "aa.x"),
        (r"\w++\.x", "aa.x"),
    ],
)
def test_usual_expressions_that_re2_lacks_are_read(text: str, name: str) -> None:
    expression = compile_java_regex(text)
    assert expression.fullmatch(name)
    assert expression.matches([name, "-"], whole=True).to_pylist()[0] is True


def test_like_takes_time_in_proportion_to_the_text() -> None:
    like = compile_like("%a" * 10 + "%b")
    texts = ["a" * 4_000, "a" * 4_000 + "b", None]
    assert like.matches(texts, whole=True).to_pylist() == [False, True, None]
    assert compile_like(r"a\%_").matches(["a%\n", "ab\n"], whole=True).to_pylist() == [True, False]


PARTS = st.sampled_from(
    ["a", "B", "k", "[a-c]", "[^aB]", r"\d", r"\D", r"[^\s\d]", r"[\W_]", r"\w", ".", r"\.", "é",
     r"(?i:b)", r"(?s:.)", r"\b", "^", "$", r"\Z", "|", "[k-s]", "ſ", "\n", r"[\S]", r"\A", r"\h"]
)  # fmt: skip


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantifier = st.sampled_from(["", "*", "+?", "?", "{1,2}", "??"])
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, quantifier).map(lambda two: f"({two[0]}){two[1]}"),
    )


EXPRESSIONS = st.recursive(PARTS, grown, max_leaves=6)
TEXTS = st.text(st.sampled_from("aAbBkK\u212a1_. \n\x0bé\u017f\u2028s"), max_size=5)


@given(EXPRESSIONS, st.lists(TEXTS, max_size=8), st.booleans())
def test_the_form_for_re2_means_the_same(text: str, texts: list[str], case_matters: bool) -> None:
    try:
        expression = compile_java_regex(text, case_matters=case_matters)
    except ValueError:
        return
    plain = expression._pattern
    for whole, test in ((True, plain.fullmatch), (False, plain.search)):
        expected = [test(each) is not None for each in texts]
        assert expression.matches(pa.array(texts, pa.string()), whole=whole).to_pylist() == expected


@given(EXPRESSIONS, TEXTS)
def test_the_first_match_is_replaced_as_python_does(text: str, name: str) -> None:
    """But for what an empty turn of a loop leaves in a group, where engines differ."""
    if re.search(r"[*+?}|^$]\)+[*+{]|\\[bAZ]", text) or "\n" in name:
        return
    try:
        expression = compile_java_regex(text)
        linear_form(parsed(expression._pattern.pattern, expression._pattern.flags), whole=False)
    except (ValueError, NoLinearForm):
        return
    expected = expression._pattern.sub(lambda match: f"<{match[0]}>", name, count=1)
    expression._is_ambiguous = True
    assert expression.replaced(name, lambda groups: f"<{groups[0]}>") == expected


def test_groups_of_an_ambiguous_expression_are_those_of_the_first_match() -> None:
    expression = compile_java_regex(r"(?<shard>(?:s|t)+)(x)?\.(.*)", case_matters=True)
    made = compile_java_replacement(r"${shard}-$2-$3", expression)
    assert expression.replaced("stst.orders", made) == "stst--orders"
    assert expression.replaced("-sx.a", made) == "-s-x-a"
