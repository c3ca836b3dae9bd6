"""The modes of tables: what each of them keeps of its source, and which tables have which mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from headrace.config.filters import NameFilter
from headrace.config.regex import split_regex_list
from headrace.errors import HeadraceError


class Mode(StrEnum):
    """The kind of the sink's tables."""

    REPLICA = "replica"
    EVENTS = "events"
    APPEND = "append"
    HISTORY = "history"

    @property
    def keeps_rows(self) -> bool:
        """Whether tables of the mode keep the rows and the columns of before."""
        return self in (Mode.APPEND, Mode.HISTORY)


MODE = "mode"
"""The option for the mode of all tables that no other option selects."""
APPEND_TABLES, HISTORY_TABLES = "append.tables", "history.tables"
_MODES: Mapping[str, Mode] = {APPEND_TABLES: Mode.APPEND, HISTORY_TABLES: Mode.HISTORY}
OPTIONS = tuple(_MODES)
"""The names of the options that select tables, without `headrace.sink.`."""


@dataclass(frozen=True)
class TableModes:
    """The mode of each table: that of the option whose expressions match the name of the source's
    table, or `default`. `selections` are the texts of these options."""

    default: Mode = Mode.REPLICA
    selections: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(options: Mapping[str, str]) -> TableModes:
        """Parse options without `headrace.sink.`, whose MODE is valid. Raises
        HeadraceError("replicas.option_invalid")."""
        selections = tuple((name, options[name]) for name in OPTIONS if options.get(name))
        for name, text in selections:
            try:
                _filter(text)
            except ValueError as error:
                raise HeadraceError(
                    "replicas.option_invalid",
                    f"headrace.sink.{name}={text} is not a valid value: {error}",
                    "Set it to regular expressions of tables, separated by commas, as in "
                    "table.include.list.",
                ) from None
        default = options.get(MODE, Mode.REPLICA).strip().lower()
        return TableModes(Mode(default), selections)

    def mode(self, source: str) -> Mode:
        """Return the mode of a table of the source. Raises HeadraceError("replicas.two_modes") for
        a table that two options select."""
        chosen = [name for name, text in self.selections if _filter(text).accepts(source)]
        if len(chosen) > 1:
            options = " and by ".join(f"headrace.sink.{name}" for name in chosen)
            raise HeadraceError(
                "replicas.two_modes",
                f"The table {source} is selected by {options}",
                "Select each table by one of these options.",
            )
        return _MODES[chosen[0]] if chosen else self.default


@lru_cache(16)
def _filter(text: str) -> NameFilter:
    """Return the filter of a list of expressions. Raises ValueError."""
    return NameFilter([expression.strip() for expression in split_regex_list(text)])
