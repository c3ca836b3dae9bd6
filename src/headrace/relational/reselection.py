"""The post-processor ReselectColumnsPostProcessor: selects the columns that are read again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.regex import Expression, compile_java_regex, split_regex_list
from headrace.errors import HeadraceError

CLASS = "io.debezium.processors.reselect.ReselectColumnsPostProcessor"


@dataclass(frozen=True)
class Lookup:
    """Cells of a table's new rows that are read from the database again: `columns` (indexes in the
    image) by `key` (also indexes), if they are unavailable or null. `strict`: a row that cannot be
    read is an error."""

    key: tuple[int, ...]
    columns: tuple[int, ...]
    unavailable: bool
    null: bool
    strict: bool


@dataclass(frozen=True)
class Reselection:
    """The settings of a post-processor. Expressions match `schema.table:column`."""

    include: tuple[Expression, ...] = ()
    exclude: tuple[Expression, ...] = ()
    unavailable: bool = True
    null: bool = True
    by_event_key: bool = False
    strict: bool = False

    def lookup(
        self,
        table: str,
        names: Sequence[str],
        captured: Sequence[bool],
        event_key: Sequence[str],
        primary_key: Sequence[str],
    ) -> Lookup | None:
        """Return the look-up for `schema.table` with the columns `names`; None if no column is read
        again, as for a table without key, whose rows cannot be found."""
        key = event_key if self.by_event_key else primary_key
        columns = tuple(
            index
            for index, name in enumerate(names)
            if captured[index] and name not in key and self._takes(f"{table}:{name}")
        )
        if not key or not columns or not (self.unavailable or self.null):
            return None
        return Lookup(
            tuple(names.index(name) for name in key),
            columns,
            self.unavailable,
            self.null,
            self.strict,
        )

    def _takes(self, column: str) -> bool:
        if self.include:
            return any(pattern.fullmatch(column) for pattern in self.include)
        return not any(pattern.fullmatch(column) for pattern in self.exclude)


def reselections(config: ConnectorConfig) -> tuple[Reselection, ...]:
    """The post-processors of a configuration. Raises HeadraceError("config.invalid")."""
    return tuple(
        _reselection(
            alias,
            {
                member.variables[1]: member.value
                for member in config.alias_options
                if member.variables[0] == alias
            },
        )
        for alias in config.post_processors
    )


def unmatched(
    connector: str, config: ConnectorConfig, columns: Collection[str]
) -> Iterator[HeadraceError]:
    """Return warnings for expressions of reselect.columns.*.list that match no captured column
    (`columns`, as `schema.table:column`), which may be added later. `connector` is the prefix of
    codes."""
    aliases = config.post_processors or ()
    for member in config.alias_options:
        alias, option = member.variables
        if alias not in aliases or option not in _LISTS:
            continue
        for part in split_regex_list(member.value):
            expression = compile_java_regex(part)
            if not any(expression.fullmatch(column) for column in columns):
                yield HeadraceError(
                    f"{connector}.reselect_columns",
                    f"{alias}.{option}: {part} matches no captured column",
                    "Check the spelling: schema.table:column, as a regular expression.",
                )


_LISTS = ("reselect.columns.include.list", "reselect.columns.exclude.list")
_OPTIONS = {
    "reselect.columns.include.list",
    "reselect.columns.exclude.list",
    "reselect.unavailable.values",
    "reselect.null.values",
    "reselect.use.event.key",
    "reselect.error.handling.mode",
}


def _reselection(alias: str, options: Mapping[str, str]) -> Reselection:
    kind = options.get("type", "")
    if kind not in (CLASS, CLASS.rsplit(".", 1)[1]):
        raise HeadraceError(
            "config.invalid",
            f"{alias}.type is {kind or 'missing'}; headrace cannot load Java classes",
            f"The available post-processor is {CLASS}.",
        )
    unknown = sorted(set(options) - _OPTIONS - {"type"})
    if unknown:
        raise HeadraceError(
            "config.invalid",
            f"{alias}.{unknown[0]} is not an option of {CLASS}",
            f"Options: {', '.join(sorted(_OPTIONS))}.",
        )
    try:
        return Reselection(
            _expressions(options.get("reselect.columns.include.list", "")),
            _expressions(options.get("reselect.columns.exclude.list", "")),
            _word(options, "reselect.unavailable.values", "true", "false") == "true",
            _word(options, "reselect.null.values", "true", "false") == "true",
            _word(options, "reselect.use.event.key", "false", "true") == "true",
            _word(options, "reselect.error.handling.mode", "warn", "fail") == "fail",
        )
    except ValueError as error:
        raise HeadraceError(
            "config.invalid",
            f"the post-processor {alias} cannot be set up: {error}",
            "Correct the option.",
        ) from None


def _expressions(text: str) -> tuple[Expression, ...]:
    return tuple(compile_java_regex(part) for part in split_regex_list(text))


def _word(options: Mapping[str, str], name: str, *allowed: str) -> str:
    """Return the value of an option, one of `allowed`; the first is the default. Raises
    ValueError."""
    value = options.get(name, allowed[0]).strip().lower()
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}, not {' or '.join(allowed)}")
    return value
