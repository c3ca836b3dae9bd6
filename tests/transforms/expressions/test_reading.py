"""Content of expressions that is accepted, and where the rest is refused."""

from __future__ import annotations

import pytest

from headrace.errors import HeadraceError
from headrace.transforms import apply_json
from headrace.transforms.expressions.languages import expression

REFUSED = [
    ("groovy", "value.op ==", 12, "a value is expected, not the end"),
    ("groovy", "absent == 1", 1, "absent is not a variable"),
    ("groovy", "value.op == 'u' and true", 17, "and is not expected"),
    ("groovy", "value.op = 'u'", 10, "= is not expected"),
    ("groovy", "value.op == 'u", 13, "does not end"),
    ("groovy", "value.each { it }", 12, "{ is not expected"),
    ("groovy", "value.op.execute()", 10, "execute is not a supported method"),
    ("groovy", "value.class.forName('a')", 7, "class is a property of Java's objects"),
    ("groovy", "Runtime.getRuntime()", 1, "Runtime is not a variable"),
    ("groovy", "new File('a')", 1, "new is not supported"),
    ("groovy", '"${topic}" == topic', 2, "GString"),
    ("groovy", "'''a'''", 1, "three quotes"),
    ("groovy", "topic ==~ /(/", 11, "not a regular expression"),
    ("spark.sql", "topic RLIKE '('", 1, "'(' is not a regular expression"),
    ("groovy", "topic.startsWith(value.op)", 18, "constants only"),
    ("groovy", "topic.startsWith('a', 'b')", 7, "takes 1 arguments, not 2"),
    ("groovy", "topic.startsWith(1)", 7, "takes texts"),
    ("groovy", "value.n in 1..3", 12, "a list such as"),
    ("groovy", "value.n\n+ 1", 1, "another statement"),
    ("groovy", "value.n == 012", 12, "octal"),
    ("groovy", "value.n == 1x", 13, "right after a number"),
    ("groovy", r"'\q'", 2, r"\q is not an escape"),
    ("groovy", "(" * 200 + "1" + ")" * 200, 51, "nested too deeply"),
    ("groovy", "!" * 200 + "true", 100, "nested too deeply"),
    ("groovy", "value.op instanceof String", 10, "instanceof is not supported"),
    ("groovy", "value.op # u", 10, "belongs to nothing"),
    ("python", "value.op ==", 12, "invalid syntax"),
    ("python", "open('/etc/passwd')", 1, "len is the only function"),
    ("python", "value.op.__class__()", 1, "__class__ with 0 texts is not supported"),
    ("python", "topic == 'Łódź' and exec", 21, "exec is not a variable"),
    ("python", "[x for x in value]", 1, "this kind of expression (ListComp) is not supported"),
    ("python", "(lambda: 1)()", 1, "len is the only function"),
    ("python", "f'{topic}'", 1, "this kind of expression (JoinedStr) is not supported"),
    ("python", "value.op is 'u'", 13, "`is` can only compare with None"),
    ("python", "value.n ** 9 > 1", 9, "the operator ** is not supported"),
    ("python", "(value.a) // (value.b / 2) == 1", 11, "the operator // is not supported"),
    ("python", "topic == 'Łódź' and ~value.n", 21, "the operator ~ is not supported"),
    ("python", "valu.a == 1", 1, "valu is not a variable; the variables are key, "),
    ("python", "topic.startswith(value.op)", 1, "arguments of startswith must be string literals"),
    ("python", "topic.startswith('a', start=1)", 1, "named arguments are not supported"),
    ("python", "topic == b'a'", 10, "constants of the type bytes are not supported"),
    ("spark.sql", "value.a / 2 = 1", 9, "the operator / is not supported"),
    ("spark.sql", "(value.a) & (value.b / 2) = 1", 11, "the operator & is not supported"),
    ("spark.sql", "topic = 'a' OR ~value.a = 1", 16, "the operator ~ is not supported"),
    ("python", "(" * 300 + "1" + ")" * 300, None, "too many nested parentheses"),
    ("python", "value.n" + " + 1" * 200, 1, "nested too deeply"),
    ("spark.sql", "value.op = ", None, ""),
    ("spark.sql", "topic = 'a' AND absent = 1", 17, "absent is not a variable"),
    ("spark.sql", "EXISTS (SELECT 1 FROM value)", None, "not supported"),
    ("spark.sql", "reflect('java.lang.Runtime', topic)", None, "not supported"),
    ("spark.sql", "SELECT 1", None, "not supported"),
    ("spark.sql", "true; true", None, "one expression"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "column", "what"), REFUSED)
def test_what_is_not_understood_is_refused_at_its_column(
    language: str, text: str, column: int | None, what: str
) -> None:
    with pytest.raises(HeadraceError) as raised:
        expression(language, text)
    assert raised.value.code == "transforms.expression_not_understood"
    assert what in raised.value.message
    if column is not None:
        place = f"line 2, column {column}" if "\n" in text else f"column {column}"
        assert f"is not understood at {place}: " in raised.value.message


def test_a_condition_that_is_not_understood_is_reported_with_its_transform() -> None:
    properties = {
        "transforms": "f",
        "transforms.f.type": "Filter",
        "transforms.f.language": "jsr223.groovy",
        "transforms.f.condition": "value.op = 'u'",
    }
    with pytest.raises(HeadraceError) as raised:
        apply_json(properties, [])
    assert "transforms.f.condition: \"value.op = 'u'\" is not understood at column 10" in str(
        raised.value
    )


def kept(language: str, condition: str, **members: object) -> str:
    """The outcome of a record with these members: kept, dropped, or fails."""
    kinds = {bool: "boolean", int: "int64", float: "double", str: "string", type(None): "string"}
    fields = [
        {"field": name, "type": kinds[type(value)], "optional": True}
        for name, value in members.items()
    ]
    schema = {"type": "struct", "optional": False, "fields": fields}
    properties = {
        "transforms": "f",
        "transforms.f.type": "Filter",
        "transforms.f.language": language,
        "transforms.f.condition": condition,
    }
    header = {"name": "trace", "schema": {"type": "string", "optional": False}, "payload": "t-1"}
    record = {
        "topic": "shop.orders",
        "partition": None,
        "timestamp": None,
        "key": None,
        "value": {"schema": schema, "payload": members},
        "headers": [header],
    }
    (result,) = apply_json(properties, [record])
    if result is None:
        return "dropped"
    return "fails" if "error" in result else "kept"


OUTCOMES = [
    # Groovy 4.0.27 gives these results.
    ("groovy", "value.n == 'a'", {"n": 97}, "kept"),
    ("groovy", "value.n < '6'", {"n": 5}, "kept"),
    ("groovy", "value.n < '66'", {"n": 5}, "fails"),
    ("groovy", "value.n in [1, 2]", {"n": 1}, "dropped"),
    ("groovy", "value.n in [1L, 2L]", {"n": 1}, "kept"),
    ("groovy", "value.t !in ['b']", {"t": "a"}, "kept"),
    ("groovy", "value.t in [null]", {"t": None}, "kept"),
    ("groovy", "value.d == value.d", {"d": float("nan")}, "kept"),
    ("groovy", "value.d == 0", {"d": -0.0}, "dropped"),
    ("groovy", "value.d == 9007199254740993L", {"d": 9007199254740992.0}, "kept"),
    ("groovy", "value.t < 1", {"t": None}, "kept"),
    ("groovy", "value.t <= null", {"t": None}, "kept"),
    ("groovy", "1 < value.t", {"t": None}, "dropped"),
    ("groovy", "value.b < 1", {"b": True}, "fails"),
    ("groovy", "value.b == 1", {"b": True}, "dropped"),
    ("groovy", "!value.d", {"d": float("nan")}, "kept"),
    ("groovy", "value.t + 'x' == 'nullx'", {"t": None}, "kept"),
    ("groovy", "value.b + 1 == 2", {"b": True}, "fails"),
    ("groovy", "-7 % 3 == -1 && value.n % 2 == 1", {"n": 3}, "kept"),
    ("groovy", "value.n % 0 == 1", {"n": 3}, "fails"),
    ("groovy", "2147483647 + 1 == -2147483648", {"n": 3}, "kept"),
    ("groovy", "value.t ==~ /x/", {"t": None}, "dropped"),
    ("groovy", "value.t =~ /b/ ? true : false", {"t": "abc"}, "kept"),
    ("groovy", "value.n ==~ /5/", {"n": 5}, "kept"),
    ("groovy", "value.t.equals('x')", {"t": None}, "dropped"),
    ("groovy", "value.t?.length() == null", {"t": None}, "kept"),
    ("groovy", "value.t?.a.b == null", {"t": None}, "fails"),
    ("groovy", "value.t.length() == 2", {"t": "😀"}, "kept"),
    ("groovy", "value.t < '\uffee'", {"t": "😀"}, "kept"),
    ("groovy", "header.trace.value == 't-1' && header.size() == 1", {}, "kept"),
    ("groovy", "header.containsKey('trace') && header.none == null", {}, "kept"),
    ("groovy", "valueSchema.name() == null && keySchema == null", {}, "kept"),
    # Python's rules.
    ("python", "value.t < 1", {"t": None}, "fails"),
    ("python", "value.n == True", {"n": 1}, "kept"),
    ("python", "value.n < '6'", {"n": 5}, "fails"),
    ("python", "value.d == value.d", {"d": float("nan")}, "dropped"),
    ("python", "value.d == 0", {"d": -0.0}, "kept"),
    ("python", "value.n % 3 == 2", {"n": -7}, "kept"),
    ("python", "1 < value.n < 5 and value.t is None", {"n": 3, "t": None}, "kept"),
    ("python", "value.n in (1, 2) and 'b' in value.t", {"n": 1, "t": "abc"}, "kept"),
    ("python", "value.t not in ['a'] if value.t else False", {"t": ""}, "dropped"),
    ("python", "value.t and True", {"t": ""}, "fails"),
    ("python", "value.t.x is None", {"t": None}, "fails"),
    ("python", "len(value.t) == 3 and value['t'].upper() == 'ABC'", {"t": "abc"}, "kept"),
    ("python", "header['trace'].value.startswith('t')", {}, "kept"),
    # SQL's rules.
    ("spark.sql", "value.t = 'a'", {"t": None}, "dropped"),
    ("spark.sql", "NOT (value.t = 'a')", {"t": None}, "dropped"),
    ("spark.sql", "value.t = 'a' OR value.n = 1", {"t": None, "n": 1}, "kept"),
    ("spark.sql", "value.t IS NULL AND value.t.x IS NULL", {"t": None}, "kept"),
    ("spark.sql", "value.n NOT IN (2, NULL)", {"n": 1}, "dropped"),
    ("spark.sql", "value.n BETWEEN 1 AND 3", {"n": 3}, "kept"),
    ("spark.sql", "value.t LIKE 'a%\\\\%'", {"t": "ab%"}, "kept"),
    ("spark.sql", "value.t RLIKE '^b'", {"t": "ab"}, "dropped"),
    ("spark.sql", "value.t RLIKE 'b$'", {"t": "ab"}, "kept"),
    ("spark.sql", "NOT value.t RLIKE 'b'", {"t": None}, "dropped"),
    ("spark.sql", "value.t RLIKE 'b' IS NULL", {"t": None}, "kept"),
    ("spark.sql", "CASE value.n WHEN 1 THEN true ELSE false END", {"n": 1}, "kept"),
    ("spark.sql", "coalesce(value.t, 'x') = 'x'", {"t": None}, "kept"),
    ("spark.sql", "concat(value.t, 'b') || 'c' = 'abc'", {"t": "a"}, "kept"),
    ("spark.sql", "if(value.n > 1, upper(value.t), 'x') = 'A'", {"t": "a", "n": 2}, "kept"),
    ("spark.sql", "value.d = value.d AND value.d > 1", {"d": float("nan")}, "kept"),
    ("spark.sql", "value.d = 0", {"d": -0.0}, "kept"),
    ("spark.sql", "value.n < '6'", {"n": 5}, "fails"),
    ("spark.sql", "startswith(topic, 'shop.') AND header['trace'].value = 't-1'", {}, "kept"),
    ("spark.sql", "value.absent = 1", {"n": 5}, "fails"),
    ("spark.sql", "value.n", {"n": 5}, "fails"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "condition", "members", "outcome"), OUTCOMES)
def test_each_language_keeps_its_rules(
    language: str, condition: str, members: dict[str, object], outcome: str
) -> None:
    assert kept(language, condition, **members) == outcome


@pytest.mark.parametrize(
    ("language", "word"), [("groovy", "||"), ("python", "or"), ("spark.sql", "OR")]
)
def test_hundreds_of_alternatives_are_no_nesting(language: str, word: str) -> None:
    sign = "=" if language == "spark.sql" else "=="
    condition = f" {word} ".join(f"value.n {sign} {number}" for number in range(300))
    assert kept(language, condition, n=299) == "kept"
    assert kept(language, condition, n=300) == "dropped"
