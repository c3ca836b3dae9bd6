import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.java_properties import decode_properties, parse_properties
from headrace.errors import HeadraceError
from tests.config.properties_text import format_properties

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"])) | st.text(
    alphabet=" \t\f\r\n=:#!\\ua0"
)


def pairs(text: str) -> list[tuple[str, str]]:
    return [(entry.key, entry.value) for entry in parse_properties(text)]


@given(st.lists(st.tuples(TEXT, TEXT)))
def test_what_is_written_is_read_back(written: list[tuple[str, str]]) -> None:
    assert pairs(format_properties(written)) == written


@given(st.text())
def test_any_text_is_pairs_or_an_error_of_ours(text: str) -> None:
    try:
        parse_properties(text)
    except HeadraceError:
        return


@pytest.mark.parametrize(
    ("line", "pair"),
    [
        ("a=b", ("a", "b")),
        ("a : b", ("a", "b")),
        ("a b", ("a", "b")),
        ("  a\t=\tb ", ("a", "b ")),
        ("a==b", ("a", "=b")),
        ("a", ("a", "")),
        ("a\\ b\\=c=d", ("a b=c", "d")),
        ("a=b\\\n   c", ("a", "bc")),
        ("a=b\\\r\n\\ c", ("a", "b c")),
        ("a=b\\\\", ("a", "b\\")),
        ("a=\\u00e9\\t\\z", ("a", "é\tz")),
        ("a=\\ud83d\\ude00", ("a", "😀")),
        ("a=b # not a comment", ("a", "b # not a comment")),
        ("a=b\\\n# c", ("a", "b# c")),
    ],
)
def test_each_form_of_a_line_is_read_as_java_reads_it(line: str, pair: tuple[str, str]) -> None:
    assert pairs(line) == [pair]


def test_comments_and_blank_lines_are_left_out_and_lines_are_numbered() -> None:
    entries = parse_properties("# one\n! two\n\n   \na=1\nb=2\\\n3\nc=4")
    assert [(entry.key, entry.line) for entry in entries] == [("a", 5), ("b", 6), ("c", 8)]


def test_a_comment_does_not_continue() -> None:
    assert pairs("# one \\\na=1") == [("a", "1")]


def test_a_broken_escape_is_named_with_its_line() -> None:
    with pytest.raises(HeadraceError, match=r"Line 2 .*config\.bad_escape"):
        parse_properties("a=1\nb=\\u12")


def test_both_encodings_are_read() -> None:
    assert decode_properties("a=é".encode()) == "a=é"
    assert decode_properties("a=é".encode("iso-8859-1")) == "a=é"
    assert decode_properties(b"\xef\xbb\xbfa=b") == "a=b"
