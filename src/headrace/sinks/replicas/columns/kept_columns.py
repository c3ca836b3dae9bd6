"""Changes of the columns of change logs and histories, which keep every column and its values."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from headrace.sinks.replicas.evolution import change_of_columns, takes
from headrace.sinks.replicas.lake import ColumnChange, TableName, TableSchema
from headrace.sinks.replicas.options import Ambiguous

log = logging.getLogger(__name__)


def change_of_kept_columns(
    name: TableName,
    current: TableSchema,
    target: TableSchema,
    ambiguous: Ambiguous,
    *,
    retypes: bool,
) -> ColumnChange:
    """Return the change that gives a table the columns of its source, as
    `evolution.change_of_columns` does, and drops none. A column that the source drops stays, and
    is null in later rows. If another column of the source takes its name, it is renamed: `_former`
    is added to the name. The same happens to a column that cannot take the source's type, if
    `retypes`; otherwise it is an error. Raises HeadraceError as `change_of_columns`."""
    names = {column.name.casefold() for column in target.columns}
    aside = [c.name for c in current.columns if c.is_foreign and c.name.casefold() in names]
    if retypes:
        aside += [
            had.name
            for had in current.columns
            if not had.is_foreign
            and (target_column := target.column(had.name)) is not None
            and (not (had.id and target_column.id) or had.id == target_column.id)
            and not takes(had.type, target_column.type)
        ]
    stays = tuple(column for column in current.columns if column.name not in aside)
    change = change_of_columns(name, replace(current, columns=stays), target, ambiguous)
    come = {column.name for column in change.added} | {*change.renamed.values()}
    folded = {name_of_column.casefold() for name_of_column in come}
    aside += [
        name_of_column for name_of_column in change.dropped if name_of_column.casefold() in folded
    ]
    names_in_use = {column.name.casefold() for column in current.columns} | names
    renamed = dict(change.renamed)
    for column in aside:
        renamed[column] = _free(column, names_in_use)
        names_in_use.add(renamed[column].casefold())
        log.warning(
            "%s: the column %s is named %s from now on, because the source has another one",
            name,
            column,
            renamed[column],
        )
    return replace(change, dropped=(), renamed=renamed)


def _free(name: str, names_in_use: Iterable[str]) -> str:
    """Return a name for a former column that no column has."""
    names = (f"{name}_former{number if number > 1 else ''}" for number in count(1))
    return next(former for former in names if former.casefold() not in names_in_use)
