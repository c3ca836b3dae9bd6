"""The common part of transforms with an expression: the selection of records."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from headrace.config.configuration import Configuration
from headrace.config.kinds import ROW_REGEX, choice, one_of
from headrace.config.property import REQUIRED, Group, Property
from headrace.config.regex import compile_java_regex
from headrace.connect.evaluation.values import tombstones
from headrace.connect.records import Records
from headrace.errors import HeadraceError
from headrace.transforms.expressions.languages import LANGUAGES, expression
from headrace.transforms.transform import WrongOption

HOLDS = (
    "Its variables are `key`, `value`, `keySchema`, `valueSchema`, `topic` and `header` "
    "(`header.NAME.value`). "
    "Groovy: fields (`value.after?.id`, `value['op']`, `value.get('op')`) and literals; operators "
    "`== != < <= > >= && || ! ?: in ==~ =~ + - * %`; methods of texts `startsWith endsWith "
    "contains matches equals equalsIgnoreCase isEmpty isBlank length size toUpperCase toLowerCase "
    "trim replace`, of arrays and maps `size isEmpty contains containsKey`, of schemas `name() "
    "version()`. "
    "Python: attributes and `['name']`; comparisons; operators `and or not in is + - * %`; "
    "`x if c else y`; functions and methods `len startswith endswith upper lower replace get`. "
    "SQL: fields with dots; comparisons; operators `AND OR NOT IS NULL IN BETWEEN LIKE RLIKE CASE "
    "|| + - * %`; functions `IF COALESCE concat lower upper startswith endswith contains`."
)
"""Summary of the syntax of expressions."""


class NullHandling(StrEnum):
    """Handling of tombstones."""

    KEEP = "keep"
    DROP = "drop"
    EVALUATE = "evaluate"


class ScriptedOptions(Configuration):
    """Options of both transforms."""

    language = Property(
        "language",
        one_of(*LANGUAGES),
        REQUIRED,
        Group.CONVERTERS,
        "The language of the expression. headrace supports a subset of each language, and "
        "translates expressions instead of running them.",
    )
    topic_regex = Property(
        "topic.regex",
        ROW_REGEX,
        "",
        Group.CONVERTERS,
        "Records of other topics pass unchanged; the whole topic must match.",
    )
    null_handling_mode = Property(
        "null.handling.mode",
        choice(NullHandling),
        "keep",
        Group.CONVERTERS,
        "Whether tombstones pass, are left out, or are passed to the expression.",
    )


class Scripted:
    """An expression that applies to some of the records."""

    def __init__(self, options: ScriptedOptions, option: str, text: str) -> None:
        """`option` is the name of the option with the expression `text`.

        Raises WrongOption("transforms.expression_not_understood").
        """
        try:
            self.expression = expression(options.language, text)
        except HeadraceError as error:
            raise WrongOption(error.code, option, f": {error.message}", error.remedy) from None
        self._pattern = (
            compile_java_regex(options.topic_regex, case_matters=True)
            if options.topic_regex
            else None
        )
        self._nulls = options.null_handling_mode

    def sees(self, records: Records) -> bool:
        """Whether the expression applies to records of this topic."""
        return self._pattern is None or self._pattern.fullmatch(records.shape.topic)

    def split(self, records: Records) -> tuple[Records, Records]:
        """Return the records that pass unchanged, and those for the expression."""
        absent = tombstones(records)
        if self._nulls is NullHandling.EVALUATE or not absent.any():
            return records.with_rows(np.zeros(len(records), np.bool_)), records
        passing = absent if self._nulls is NullHandling.KEEP else np.zeros_like(absent)
        return records.with_rows(passing), records.with_rows(~absent)
