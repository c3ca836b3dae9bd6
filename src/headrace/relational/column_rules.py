"""The column rules of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.config.properties.relational import RelationalConfig
from headrace.config.regex import Expression, compile_java_regex
from headrace.debezium.column_rules import (
    ColumnRule,
    ColumnRules,
    Hash,
    Mask,
    Propagate,
    Truncate,
    by_column,
    by_type,
    hash_algorithm,
)
from headrace.errors import HeadraceError


def column_rules(config: RelationalConfig) -> ColumnRules:
    """Return the rules in Debezium's order, except that hashes precede the propagation of types."""
    rules: list[tuple[Callable[[str, str], bool], ColumnRule]] = [
        *(
            (by_column(_compiled(member.value)), Truncate(int(member.variables[0])))
            for member in config.column_truncate
        ),
        *(
            (by_column(_compiled(member.value)), Mask(int(member.variables[0])))
            for member in config.column_mask
        ),
        *(
            (by_column(_compiled(member.value)), _hash(*member.variables, version=version))
            for version, members in ((1, config.column_mask_hash), (2, config.column_mask_hash_v2))
            for member in members
        ),
    ]
    if config.column_propagate_source_type:
        rules.append((by_column(_compiled(config.column_propagate_source_type)), Propagate()))
    if config.datatype_propagate_source_type:
        rules.append((by_type(_compiled(config.datatype_propagate_source_type)), Propagate()))
    return ColumnRules(tuple(rules))


def _compiled(expressions: Iterable[str]) -> list[Expression]:
    return [compile_java_regex(text) for text in expressions]


def _hash(algorithm: str, salt: str, *, version: int) -> Hash:
    name = hash_algorithm(algorithm)
    if name is None:
        raise HeadraceError(
            "config.invalid",
            f"column.mask.hash names the algorithm {algorithm}, which does not exist",
            "Use SHA-256, SHA-512, SHA3-256, SHA-1 or MD5.",
        )
    return Hash(name, salt, version)
