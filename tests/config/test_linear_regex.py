"""Regular expressions that hang on no text, and mean in RE2 what they mean in Python."""

from __future__ import annotations

import re
import time

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.regex import Use, compile_java_regex, compile_java_replacement, compile_like
from headrace.config.regex.linear import NoLinearForm, linear_form, parsed

HOSTILE = [r"(a+)+b", r"(a|a)*b", r"(?:a*)*b", r"(a|aa){30}b", "a?" * 40 + "b"]


@pytest.mark.parametrize("text", HOSTILE)
def test_an_expression_that_backtracks_for_ever_is_answered(text: str) -> None:
    expression = compile_java_regex(text)
    assert not expression.fullmatch("a" * 200)
    assert expression.matches(["a" * 5_000, None], whole=False).to_pylist() == [False, None]
    assert expression.replaced("a" * 200, lambda _groups: "x") == "a" * 200


@pytest.mark.parametrize(
    "text",
    [
        r"(a+)+(?=b)c",
        r"(a|a)*\1b",
        r"(a|aa)+$b",
        r"(?!x)(a*)*b",
        r"a*a*a*a*a*a*a*a*a*a*(?=b)c",
        r"(?:a?){28}(?=b)c",
    ],
)
def test_what_could_take_for_ever_and_has_no_form_in_re2_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="it could take too long"):
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


POLYNOMIAL = [r"a*a*(?=b)c", r"a*a*a*a*(?=b)c", r"(a*)\1c", r"a*(?=.*c)b", r"a{1,90}a{1,90}(?=b)c"]


@pytest.mark.parametrize("text", POLYNOMIAL)
@pytest.mark.parametrize("use", [Use.TEXTS, Use.WHOLE_TEXTS])
def test_texts_of_rows_are_matched_in_time_in_proportion_or_not_at_all(text: str, use: Use) -> None:
    with pytest.raises(ValueError, match="it could take too long"):
        compile_java_regex(text, use=use)


@pytest.mark.parametrize(
    ("text", "whole", "accepted"),
    [
        (r"^(?!shop\.tmp_).*$", True, True),
        (r"^(?=.*a)(?=.*\d).*$", False, True),
        (r"(?!x)[^.]*\.[^.]*", True, True),
        (r"(?<!x)foo(?=bar)", False, True),
        (r"(?=b).*", False, True),
        (r"(?=b)a*c", True, True),
        (r"(?=b)a*c", False, False),
        (r"\w+(?=-x)", False, False),
        (r"\w++-x", True, True),
        (r"(\w)\1x", False, True),
    ],
)
def test_expressions_that_re2_lacks_are_linear_by_their_structure_or_refused(
    text: str, whole: bool, accepted: bool
) -> None:
    use = Use.WHOLE_TEXTS if whole else Use.TEXTS
    if not accepted:
        with pytest.raises(ValueError, match="it could take too long"):
            compile_java_regex(text, use=use)
        return
    expression = compile_java_regex(text, use=use)
    for hostile in ("a" * 100_000, "b" + "a" * 100_000, "." * 100_000, "foo" * 30_000):
        expression.matches([hostile], whole=whole)


@given(
    st.recursive(
        st.sampled_from(["a", "b", "[ab]", ".", "(?=a)", "(?!b)", r"\1", "[^a]"]),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=4).map("".join),
            st.tuples(inner, st.sampled_from(["*", "+?", "?", "{1,9}", "*+"])).map(
                lambda two: f"({two[0]}){two[1]}"
            ),
            st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
            inner.map(lambda pattern: f"(?={pattern})"),
        ),
        max_leaves=6,
    ),
    st.booleans(),
)
def test_whatever_is_accepted_for_texts_of_rows_answers_for_long_ones(
    text: str, whole: bool
) -> None:
    try:
        expression = compile_java_regex(text, use=Use.WHOLE_TEXTS if whole else Use.TEXTS)
    except ValueError:
        return
    began = time.process_time()
    for hostile in ("a" * 20_000, "ab" * 10_000, "a" * 20_000 + "b", "b" * 20_000 + "a"):
        expression.matches([hostile], whole=whole)
    assert time.process_time() - began < 5  # seconds; a square of the length takes minutes


def test_a_long_name_is_matched_in_re2_even_with_few_choices() -> None:
    expression = compile_java_regex("a*a*a*a*a*b", case_matters=True)
    assert not expression.fullmatch("a" * 20_000)
    assert expression.replaced("a" * 20_000, lambda _groups: "x") == "a" * 20_000


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
    replacement = compile_java_replacement(r"${shard}-$2-$3", expression)
    assert expression.replaced("stst.orders", replacement) == "stst--orders"
    assert expression.replaced("-sx.a", replacement) == "-s-x-a"
