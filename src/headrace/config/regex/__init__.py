"""Java's regular expressions, translated for RE2 and for Python, with a limit on their time."""

from headrace.config.regex.expression import (
    Expression,
    Use,
    compile_java_regex,
    compile_like,
)
from headrace.config.regex.translation import (
    compile_java_replacement,
    split_regex_list,
    translate_java_regex,
)

__all__ = [
    "Expression",
    "Use",
    "compile_java_regex",
    "compile_java_replacement",
    "compile_like",
    "split_regex_list",
    "translate_java_regex",
]
