"""Placeholders (words in capitals) for values of error texts, which are known only at run time."""

from __future__ import annotations

import ast
import re

BEGIN, END = "\ue000", "\ue001"
"""Marks around each placeholder word, until the text is written."""

_FIELD = re.compile(r"(?<!\$)\{([a-z_]+)\}")
_PLURAL = re.compile(f"(?<!S){END}s(?![A-Za-z])")
_MARKED = re.compile(f"{BEGIN}([^{END}]*){END}")
_PREFIX = re.compile(f"PREFIX{END}(?=[a-z])")
_OPTIONAL_WORD = re.compile(f"(?<=[a-z]){_MARKED.pattern}|{_MARKED.pattern}(?=[A-Z][a-z])")
_VAGUE_WORDS = {"…", "TEXT", "NAME", "VALUE", "REASON"}
"""Words that say less than the value of a variable."""
# The word on the page, and the names of variables that do not say what they hold.
_NOUNS = {
    "ADDRESS": ("WITHOUT_LOGINS",),
    "COLUMN": ("COLUMNS_BY_FIELD", "TWIN"),
    "COLUMNS": ("CHANGE_COLUMNS", "OTHER"),
    "DATABASE": ("ELSEWHERE",),
    "EXPRESSIONS": ("INCLUDE",),
    "FILE": ("FILENAME",),
    "FILES": ("TORN",),
    "KIND": ("CLASS",),
    "LIMIT": (
        "LARGEST_EPOCH", "LARGEST_TEXT", "LARGEST_TEXTS", "LEAST", "LONGEST_NAME",
        "MAX_BYTES", "MESSAGE_MAX_BYTES", "MOST",
    ),
    "METHOD": ("METHODS",),
    "NAME": (
        "BARE", "CHOSEN", "COLUMNNAME", "FIND_TYPO", "GUESS", "LAST", "MEANT", "NAMED",
        "NAMED_BY", "NEAR", "NEAREST", "PARENT", "PRESENT", "PRESENT_NAME", "PRINTABLE",
        "PRINTABLE_NAME", "QUOTED", "TAKE", "UNKNOWN", "VARIABLES",
    ),
    "NAMES": (
        "ABSENT", "KEYS_ABSENT", "KNOWN", "LACKING", "MISSING", "ORDERS", "PAIR",
        "UNREAD",
    ),
    "NUMBER": ("CONNECTORS", "MOVED", "NEWEST", "REACHED", "READ", "ROWS"),
    "PLACE": ("ROW", "WHERE"),
    "POSITION": ("COMPLETE", "INDEXED"),
    "PRIVILEGES": ("GRANTED",),
    "PROBLEM": ("FAULTS", "REFUSAL", "REFUSED"),
    "PROBLEMS": ("WRONG",),
    "REASON": (
        "CAUSE", "DEFECT", "DETAILS", "DOING", "ERRMSG", "ERROR", "ERROR_MESSAGE", "ERROR_TEXT",
        "ESSENCE",
        "IN_ERROR", "LAST_WORDS", "MESSAGE", "MESSAGE_PRIMARY", "MSG", "SAID", "STDERR",
        "STRERROR", "WAIT", "WHAT", "WHY", "WITHOUT_PASSWORDS", "WORDS",
    ),
    "RULE": ("RULES",),
    "SCN": ("CURRENT", "LAST_FLUSHED", "MINED", "OLDEST", "SCNS", "UNPACK_FROM"),
    "SECONDS": ("READ_SECONDS", "TOTAL_SECONDS"),
    "SIZE": ("LARGEST",),
    "STATEMENT": ("ADD_TABLES", "CREATE_COMMAND", "CREATE_STATEMENT", "DROP"),
    "STATEMENTS": ("GRANT_ROLES", "REGISTERING", "REINITIALIZE", "REMEDIES", "REMEDY_IN"),
    "SYSTEM_IDENTIFIER": ("SYSTEM",),
    "TABLE": ("SOURCE_OF",),
    "TABLES": ("LISTED", "NAMED_TABLES", "SILENT", "TABLES_LISTED"),
    "TEXT": ("ANSWER_TEXT", "PLAIN", "WITHOUT_SECRETS"),
    "TIME": ("TIMEDELTA", "WINDOW"),
    "TOPIC_PREFIX": ("SERVER",),
    "TYPE": ("ANNOTATION", "SIMPLESTRING", "TYPED", "TYPE_NAME"),
    "VALUE": (
        "ALIASES", "ASKED", "AS_PY", "DUMPS", "NEXT", "NOW", "SHOW", "SHOWN",
        "SHOWN_AS", "SETTINGS", "SIGNAL_TABLE", "SOURCE", "TRIMMED", "TWICE",
    ),
    "VALUES": ("CONFLICTPOLICY", "EXPECTS"),
    "VERSION": ("MEMBERS", "VERSION_TEXT"),
    "VERSIONS": ("FOLDERS",),
}  # fmt: skip
_NOUN_OF = {word: noun for noun, words in _NOUNS.items() for word in words}
_TEXT_METHODS = {
    "as_posix", "capitalize", "casefold", "decode", "encode", "format", "lower", "lstrip",
    "partition", "removeprefix", "removesuffix", "replace", "rpartition", "rsplit", "rstrip",
    "split", "splitlines", "strip", "title", "upper",
}  # fmt: skip
_FIRST_ARGUMENT_FUNCTIONS = {
    "int", "iter", "len", "list", "max", "min", "named", "next", "printable", "printable_name",
    "quoted", "repr", "set", "shown", "sorted", "str", "tuple",
}  # fmt: skip
_MAPPING_METHODS = {"get", "items", "keys", "pop", "setdefault", "values"}


def marked(word: str) -> str:
    """Return a placeholder word with its marks."""
    return f"{BEGIN}{word}{END}"


def unmarked(text: str) -> str:
    """Return a text without marks."""
    return text.replace(BEGIN, "").replace(END, "")


def in_template(text: str) -> str:
    """Return a text that is formatted later, with placeholder words for its fields."""
    return _FIELD.sub(lambda field: marked(_noun(field[1])), text)


def is_word(text: str) -> bool:
    """Return whether a text is exactly one placeholder word."""
    return _MARKED.fullmatch(text) is not None


def filled(text: str) -> str:
    """Return the text to print. PREFIX before a letter gets a dot. Any other placeholder that
    touches a letter is optional, and is left out. The plural ending `s` becomes `S`."""
    text = _PLURAL.sub(f"S{END}", text)
    text = _PREFIX.sub(f"PREFIX{END}.", text)
    return _OPTIONAL_WORD.sub("", text)


def variable_of(name: str, text: str) -> str:
    """Return the word for a variable whose text is `text`; a text that is more than one word is
    returned unchanged, unless a word repeats."""
    words = _MARKED.findall(text)
    if not (is_word(text) or len(words) > len(set(words)) > 0):
        return text
    word = _noun(name)
    return text if word in _VAGUE_WORDS and words[0] != "…" else marked(word)


def word_of(tree: ast.expr | None) -> str:
    """Return the word that stands for an expression: a noun, from the name of its variable or
    function."""
    match tree:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _noun(name)
        case ast.Subscript(value=value) | ast.Starred(value=value) | ast.Await(value=value):
            return word_of(value)
        case ast.Call(func=ast.Attribute(attr="join"), args=[listed]):
            return word_of(listed)
        case ast.Call(
            func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str(key)), *_]
        ):
            return _noun(re.sub(r"\W", "_", key))
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if (
            name in _TEXT_METHODS | _MAPPING_METHODS
        ):
            return word_of(value)
        case ast.Call(func=ast.Name(id="len")):
            return "NUMBER"
        case ast.Call(func=ast.Name(id="map"), args=[_, listed]):
            return word_of(listed)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *more]) if (
            name.strip("_") in _FIRST_ARGUMENT_FUNCTIONS
        ):
            # quoted(schema, name): the last argument is the name.
            return word_of([first, *more][-1] if name == "quoted" else first)
        case ast.Call(func=ast.Name(id="type")):
            return "TYPE"
        case ast.Call(func=function):
            return word_of(function)
        case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
            return word_of(element)
        case ast.IfExp(body=ast.Constant(value=None), orelse=value) | ast.IfExp(body=value):
            return word_of(value)
        case ast.BinOp(left=left, right=right):
            return word_of(right if isinstance(left, ast.Constant) else left)
        case ast.BoolOp(values=[first, *_]):
            return word_of(first)
        case ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]):
            return word_of(first)
        case ast.JoinedStr(values=parts):
            return next(
                (word_of(part.value) for part in parts if isinstance(part, ast.FormattedValue)), "…"
            )
        case ast.Constant(value=value):
            return str(value)
    return "…"


def _noun(name: str) -> str:
    """Return the word for a name; without a name it is `…`."""
    word = name.strip("_").upper().removeprefix("FORMAT_")
    return _NOUN_OF.get(word, word) or "…"
