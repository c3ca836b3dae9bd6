"""Words in capitals that stand for what an error says only when it happens."""

from __future__ import annotations

import ast

_NOUNS = {
    "ADDRESS": ("WITHOUT_LOGINS",),
    "NAME": (
        "CHOSEN", "COLUMNNAME", "FIND_TYPO", "MEANT", "NAMED", "NAMED_BY", "NEAR", "NEAREST",
        "ONE", "PRESENT", "PRESENT_NAME", "PRINTABLE_NAME", "QUOTED", "UNKNOWN",
    ),
    "NAMES": (
        "ABSENT", "FOUND", "KEYS_ABSENT", "KNOWN", "LACKING", "MISSING", "PAIR", "UNREAD",
    ),
    "NUMBER": ("LEN", "MOVED", "REACHED"),
    "PLACE": ("WHERE",),
    "PRIVILEGES": ("GRANTED",),
    "PROBLEMS": ("FAULTS", "WRONG"),
    "REASON": (
        "CAUSE", "DEFECT", "DOING", "ERROR", "ERROR_MESSAGE", "ERROR_TEXT", "ESSENCE",
        "LAST_WORDS", "MESSAGE", "MESSAGE_PRIMARY", "MSG", "SAID", "STRERROR", "WHAT", "WHY",
        "WITHOUT_PASSWORDS", "WORDS",
    ),
    "STATEMENT": ("CREATE_COMMAND", "CREATE_STATEMENT"),
    "TABLES": ("NAMED_TABLES", "SILENT"),
    "TEXT": ("ANSWER_TEXT", "IN_ERROR", "PLAIN", "WITHOUT_SECRETS"),
    "TIME": ("TIMEDELTA",),
    "TYPE": ("SIMPLESTRING", "TYPED", "TYPES"),
    "VALUE": (
        "ALIASES", "ASKED", "AS_PY", "DUMPS", "NEXT", "NOW", "SHOW", "SHOWN", "SHOWN_AS",
        "TRIMMED", "TWICE", "GIVEN",
    ),
    "VALUES": ("EXPECTS",),
}  # fmt: skip
_READ_AS = {word: noun for noun, words in _NOUNS.items() for word in words}
_OF_TEXTS = {
    "as_posix", "capitalize", "casefold", "decode", "encode", "format", "lower", "lstrip",
    "partition", "removeprefix", "removesuffix", "replace", "rpartition", "rsplit", "rstrip",
    "split", "strip", "title", "upper",
}  # fmt: skip
_OF_VALUES = {
    "int", "iter", "len", "list", "max", "min", "named", "next", "printable", "printable_name",
    "quoted", "repr", "set", "shown", "sorted", "str", "tuple",
}  # fmt: skip
_TAKES = {"get", "items", "keys", "pop", "setdefault", "values"}


def word_of(tree: ast.expr | None) -> str:
    """The word that stands for an expression: a noun, as its variable or function is called."""
    match tree:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _noun(name)
        case ast.Subscript(value=value) | ast.Starred(value=value) | ast.Await(value=value):
            return word_of(value)
        case ast.Call(func=ast.Attribute(attr="join"), args=[listed]):
            return word_of(listed)
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _OF_TEXTS | _TAKES:
            return word_of(value)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *more]) if (
            name.strip("_") in _OF_VALUES
        ):
            # Of a name with its schema the name.
            return word_of([first, *more][-1] if name == "quoted" else first)
        case ast.Call(func=ast.Name(id="type")):
            return "TYPE"
        case ast.Call(func=function):
            return word_of(function)
        case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
            return word_of(element)
        case ast.IfExp(body=body):
            return word_of(body)
        case ast.BinOp(left=left):
            return word_of(left)
        case ast.JoinedStr(values=parts):
            return next(
                (word_of(one.value) for one in parts if isinstance(one, ast.FormattedValue)), "…"
            )
        case ast.Constant(value=value):
            return str(value)
    return "…"


def _noun(name: str) -> str:
    word = name.strip("_").upper().removeprefix("FORMAT_")
    return _READ_AS.get(word, word) or "…"
