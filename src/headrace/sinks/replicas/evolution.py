"""Changes of a table's columns that follow changes at its source."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.connect.records import UNCERTAIN_ID
from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import OWN, Column, ColumnChange, TableName, TableSchema, is_own
from headrace.sinks.replicas.options import Ambiguous

if TYPE_CHECKING:
    import pyarrow as pa

OF_COLUMNS = (
    "replicas.column_not_taken",
    "replicas.column_ambiguous",
    "replicas.default_unknown",
    "replicas.key_changed",
)
"""Codes of errors of columns that a table without rows could take."""


def change_of_columns(
    name: TableName,
    current: TableSchema,
    target: TableSchema,
    ambiguous: Ambiguous,
    *,
    is_empty: bool = False,
) -> ColumnChange:
    """Return the change that gives a table the columns of its source.

    If the source's columns have ids, these identify each column. Otherwise a new name in the place
    of one that vanished, before the columns that stay, is a renamed column, because columns are
    added last. At the end of the columns a rename cannot be distinguished from a drop and an
    addition, and `ambiguous` decides, as it does if a column now follows columns that it preceded:
    it may have been dropped and added again. A column keeps its type if the source's becomes
    narrower. `target` has only the columns of the source; columns of `current` that headrace
    (`__deleted`) or others added stay. A table that `is_empty` takes every change: a column whose
    type cannot change is dropped and added.

    Raises HeadraceError("replicas.column_not_taken", "replicas.column_ambiguous",
    "replicas.column_taken", "replicas.key_changed").
    """
    foreign = [column for column in current.columns if column.is_foreign]
    names = {column.name.casefold() for column in target.columns}
    if clashing := [column for column in foreign if column.name.casefold() in names]:
        raise _foreign(name, clashing)
    current = replace(current, columns=tuple(c for c in current.columns if not c.is_foreign))
    if is_empty:
        return _of_empty(current, target)
    if uncertain := [column for column in target.columns if column.id == UNCERTAIN_ID]:
        raise _uncertain(name, uncertain)
    others = _of_other_columns(current, target)
    moved = _moved(current, target)
    if moved and ambiguous is Ambiguous.FAIL:
        raise _placed_elsewhere(name, moved)
    if moved and ambiguous is Ambiguous.REPLACE:
        others |= {*moved}
    if others.intersection(target.key):
        raise _key_replaced(name, sorted(others.intersection(target.key)))
    renamed = _renamed_by_id(current, target)
    come = {*renamed.values()}
    remaining = [
        column
        for column in current.columns
        if target.column(column.name) is not None
        and column.name not in others
        and column.name not in renamed
    ]
    stay = {*renamed, *(column.name for column in remaining)}
    vanished = [c for c in current.columns if c.name not in stay and not is_own(c.name)]
    come |= {column.name for column in remaining}
    new = [column for column in target.columns if column.name not in come]
    # If every column has an id, its fate is known. Otherwise names and their order decide.
    is_known = all(column.id for column in (*vanished, *new))
    guessable = [] if is_known else [c for c in vanished if c.name not in others]
    guessed = [] if is_known else [c for c in new if c.name not in others]
    by_order = _renamed(current, target, guessable, guessed)
    renamed |= by_order
    guessable = [column for column in guessable if column.name not in by_order]
    guessed = [column for column in guessed if column.name not in by_order.values()]
    if guessable and guessed:
        if ambiguous is Ambiguous.FAIL:
            raise _ambiguous(name, guessable, guessed)
        if ambiguous is Ambiguous.RENAME and len(guessable) == len(guessed):
            renamed |= {old.name: late.name for old, late in zip(guessable, guessed, strict=True)}
    vanished = [column for column in vanished if column.name not in renamed]
    new = [column for column in new if column.name not in renamed.values()]
    stays: list[tuple[Column | None, Column | None]] = [
        (column, target.column(column.name)) for column in remaining
    ]
    stays += [(current.column(old), target.column(late)) for old, late in renamed.items()]
    retyped: dict[str, pa.DataType] = {}
    for had, target_column in stays:
        assert had is not None
        assert target_column is not None
        if had.type != target_column.type and not _stays(had.type, target_column.type):
            if not holds(target_column.type, had.type):
                raise _not_taken(name, had, target_column)
            retyped[had.name] = target_column.type
    commented = {
        target_column.name: target_column.comment
        for had, target_column in stays
        if had is not None and target_column is not None and had.comment != target_column.comment
    }
    key = tuple(renamed.get(column, column) for column in current.key)
    if set(key) != set(target.key):
        raise _key_changed(name, key, target.key)
    gone = tuple(column.name for column in vanished)
    comment = _comment(current, target)
    return ColumnChange(tuple(new), gone, renamed, retyped, commented, comment)


def _of_empty(current: TableSchema, target: TableSchema) -> ColumnChange:
    had = {column.name: column for column in current.columns}
    target_columns = {column.name: column for column in target.columns}
    other = {
        name
        for name, column in target_columns.items()
        if name in had and not takes(had[name].type, column.type)
    }
    both = [name for name in had if name in target_columns and name not in other]
    return ColumnChange(
        tuple(
            column for name, column in target_columns.items() if name not in had or name in other
        ),
        tuple(n for n in had if n in other or (n not in target_columns and not is_own(n))),
        {},
        {
            n: target_columns[n].type
            for n in both
            if not _stays(had[n].type, target_columns[n].type)
        },
        {n: target_columns[n].comment for n in both if had[n].comment != target_columns[n].comment},
        _comment(current, target),
    )


def _comment(current: TableSchema, target: TableSchema) -> str | None:
    """Return the comment to set; None: the table keeps its own, which is that of the first source
    table if it has several."""
    is_same = target.comment in (None, current.comment or "")
    return None if is_same or current.source != target.source else target.comment


def _renamed(
    current: TableSchema, target: TableSchema, vanished: list[Column], new: list[Column]
) -> dict[str, str]:
    """Return new names by old ones, if the order of the columns shows them: between the same
    neighbours, with a column after them that stays, as many columns vanished as are new."""
    names = [column.name for column in current.columns if not is_own(column.name)]
    late = list(target.names)
    gone, come = {column.name for column in vanished}, {column.name for column in new}
    renamed: dict[str, str] = {}
    runs_gone, runs_come = _runs(names, gone), _runs(late, come)
    for following, olds in runs_gone.items():
        news = runs_come.get(following, [])
        if following is not None and len(olds) == len(news):
            renamed |= dict(zip(olds, news, strict=True))
    return renamed


def _runs(names: list[str], chosen: set[str]) -> dict[str | None, list[str]]:
    """Return runs of chosen names, by the name after the run, which is not chosen; None: the
    end."""
    runs: dict[str | None, list[str]] = {}
    run: list[str] = []
    for name in names:
        if name in chosen:
            run.append(name)
            continue
        if run:
            runs[name] = run
        run = []
    if run:
        runs[None] = run
    return runs


def _of_other_columns(current: TableSchema, target: TableSchema) -> set[str]:
    """Return names that belong to other columns than before."""
    return {
        late.name
        for late in target.columns
        if (had := current.column(late.name)) is not None and had.id and late.id
        if had.id != late.id
    }


def _moved(current: TableSchema, target: TableSchema) -> list[str]:
    """Return names of columns without ids that now follow columns which they preceded, as few as
    possible. Both schemas must be of one source table, so that they have the order of its
    columns."""
    if not current.source or current.source != target.source:
        return []
    places = {column.name: place for place, column in enumerate(target.columns)}
    both = [
        column.name
        for column in current.columns
        if (late := target.column(column.name)) is not None and not (column.id and late.id)
    ]
    ends: list[int] = []  # for each length of an ordered run: the least place that ends such a run
    before: dict[int, int] = {}
    for place in (places[name] for name in both):
        length = bisect_left(ends, place)
        before[place] = ends[length - 1] if length else -1
        ends[length:] = [place, *ends[length + 1 :]]
    stay, place = set[int](), ends[-1] if ends else -1
    while place >= 0:
        stay.add(place)
        place = before[place]
    return [name for name in both if places[name] not in stay]


def _renamed_by_id(current: TableSchema, target: TableSchema) -> dict[str, str]:
    """Return new names by old ones, according to the source's ids of columns."""
    late = {column.id: column.name for column in target.columns if column.id}
    return {
        column.name: late[column.id]
        for column in current.columns
        if column.id in late and late[column.id] != column.name
    }


def steps_of(change: ColumnChange, current: TableSchema) -> list[ColumnChange]:
    """Split a change into steps to commit one after the other, so that none gives a column a name
    that another one still has."""
    come = {column.name for column in change.added} | {*change.renamed.values()}
    first = tuple(name for name in change.dropped if name in come)
    names_in_use = {*current.names}.difference(first)
    aside = {
        old: f"{OWN}{old}"
        for old, late in change.renamed.items()
        if late in names_in_use or old in come
    }
    if not first and not aside:
        return [change]
    now = {**{name: name for name in current.names}, **aside}
    later = replace(
        change,
        dropped=tuple(name for name in change.dropped if name not in first),
        renamed={now[old]: late for old, late in change.renamed.items()},
        retyped={now[name]: kind for name, kind in change.retyped.items()},
    )
    return [ColumnChange(dropped=first, renamed=aside), later]


def takes(had: pa.DataType, target_type: pa.DataType) -> bool:
    """Return whether a column with rows can take the source's type, or keep its own."""
    return _stays(had, target_type) or holds(target_type, had)


def _stays(had: pa.DataType, target_type: pa.DataType) -> bool:
    """Return whether a column may keep its type when the source's has another one. A float that
    became narrower was rounded in every row."""
    import pyarrow as pa

    return holds(had, target_type) and not (
        pa.types.is_float64(had) and pa.types.is_float32(target_type)
    )


def holds(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """Return whether a type holds every value of another one, by the widenings that both formats
    support."""
    import pyarrow as pa

    if wide == narrow:
        return True
    if pa.types.is_int64(wide):
        return bool(pa.types.is_int32(narrow))
    if pa.types.is_float64(wide):
        return bool(pa.types.is_float32(narrow))
    if pa.types.is_decimal128(wide) and pa.types.is_decimal128(narrow):
        return bool(wide.scale == narrow.scale and wide.precision >= narrow.precision)
    return False


def _types(columns: list[Column]) -> str:
    return ", ".join(column.name for column in columns)


def _ambiguous(name: TableName, vanished: list[Column], new: list[Column]) -> HeadraceError:
    return HeadraceError(
        "replicas.column_ambiguous",
        f"{name}: {_types(vanished)} vanished and {_types(new)} came at once, and the log does not "
        "say whether columns were renamed",
        "Set headrace.sink.ambiguous.columns=rename, if they were, or replace, if they were "
        "dropped and others were added, and start again; leave it out afterwards. Or copy the "
        f"table again: headrace resync FILE {name} --checkpoint STATE.",
    )


def _uncertain(name: TableName, columns: list[Column]) -> HeadraceError:
    return HeadraceError(
        "replicas.column_ambiguous",
        f"{name}: at the source, {_types(columns)} was renamed, or dropped and added again, in the "
        "transaction of a change or several times before headrace read the change, and the log "
        "does not say which of these columns the change is for",
        f"Copy the table again: headrace resync FILE {name} --checkpoint STATE.",
    )


def _placed_elsewhere(name: TableName, columns: Sequence[str]) -> HeadraceError:
    return HeadraceError(
        "replicas.column_ambiguous",
        f"{name}: {', '.join(columns)} is now after columns that followed it, and the log does not "
        "say whether it was dropped and added again",
        "Set headrace.sink.ambiguous.columns=replace, if it was, or rename, if it has the values "
        "that it had, and start again; leave it out afterwards. Or copy the table again: headrace "
        f"resync FILE {name} --checkpoint STATE.",
    )


def _not_taken(name: TableName, had: Column, target_column: Column) -> HeadraceError:
    return HeadraceError(
        "replicas.column_not_taken",
        f"{name}: the column {target_column.name} is {target_column.type} at the source now, "
        f"which a column of {had.type} cannot become",
        f"Copy the table again: headrace resync FILE {name} --checkpoint STATE.",
    )


def _foreign(name: TableName, columns: list[Column]) -> HeadraceError:
    return HeadraceError(
        "replicas.column_taken",
        f"{name}: the source has a column {_types(columns)} now, and somebody else has added one "
        "of that name to the replica",
        "Rename or drop the column of the replica, and start again.",
    )


def _key_replaced(name: TableName, columns: list[str]) -> HeadraceError:
    return HeadraceError(
        "replicas.key_changed",
        f"{name}: {', '.join(columns)} of the key was dropped, and another column has the name now",
        f"Copy the table again: headrace resync FILE {name} --checkpoint STATE.",
    )


def _key_changed(name: TableName, key: tuple[str, ...], new_key: tuple[str, ...]) -> HeadraceError:
    return HeadraceError(
        "replicas.key_changed",
        f"{name}: the key was {', '.join(key) or 'none'} and is {', '.join(new_key) or 'none'} now",
        f"Copy the table again (headrace resync FILE {name} --checkpoint STATE), or "
        "name the former key in message.key.columns.",
    )
