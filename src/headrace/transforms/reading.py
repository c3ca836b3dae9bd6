"""Reads the transforms and predicates of a configuration, and reports all problems at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from headrace.config.finding import (
    UNKNOWN,
    PropertyFinding,
    error_of,
    superseded,
    with_unknown_ones,
)
from headrace.config.kinds import BOOLEAN
from headrace.config.properties.execution import ExecutionConfig
from headrace.config.properties.modes import UnknownProperties
from headrace.config.properties.transforms import TransformsConfig
from headrace.config.property import Member
from headrace.config.suggestions import distance, nearest
from headrace.errors import HeadraceError
from headrace.transforms.chain import Chain, ChainStep
from headrace.transforms.own import OwnOptions
from headrace.transforms.registry import find_predicate, find_transform
from headrace.transforms.transform import Declaration, Predicate, SharesHeaders, WrongOption
from headrace.transforms.unwrapping.added_fields import STRUCTS

T = TypeVar("T")
_COMPATIBILITY, _MAX_CELLS = "headrace.compatibility", "headrace.record.max.cells"
"""Options that transforms inherit from their connector unless they are given."""
_OF_EVERY = ("predicate", "negate")
_METHODS = {"transforms": "apply", "predicates": "matches"}


@dataclass(frozen=True)
class ReadChain:
    """A chain, the problems of its properties, and warnings for the operator."""

    chain: Chain
    problems: Sequence[PropertyFinding]
    warnings: Sequence[PropertyFinding]


def examine_chain(config: TransformsConfig) -> ReadChain:
    """Return the chain of a configuration; a step with a problem is left out."""
    reading = _ChainReading(
        {
            _COMPATIBILITY: str(config.headrace_compatibility),
            _MAX_CELLS: str(config.headrace_record_max_cells),
        },
        _unknown_fail(config),
    )
    named_predicates = tuple(config.predicates or ())
    predicates: dict[str, Predicate] = {}
    for alias in named_predicates:
        options = _options(config.predicates_options, alias)
        predicate = reading.made("predicates", alias, options, find_predicate)
        if predicate is not None:
            predicates[alias] = predicate
    steps = []
    for alias in config.transforms or ():
        options = _options(config.transforms_options, alias)
        kind = options.get("type", "").strip()
        name = options.pop("predicate", "").strip()
        negate = reading.boolean(f"transforms.{alias}.negate", options.pop("negate", "").strip())
        if name and name not in named_predicates:
            near = nearest(name, named_predicates)
            add = f"Add {name} to predicates and set predicates.{name}.type."
            reading.problem(
                "transforms.unknown_predicate",
                f"transforms.{alias}.predicate",
                f"transforms.{alias}.predicate = {name!r} is not among predicates"
                + (f"; did you mean {near}?" if near else ""),
                f"Set transforms.{alias}.predicate={near}, or add {name} to predicates and set "
                f"predicates.{name}.type."
                if near
                else add,
            )
        transform = reading.made("transforms", alias, options, find_transform)
        if transform is not None:
            hidden = config.hidden.under(f"transforms.{alias}.")
            predicate, kernels = predicates.get(name), find_transform(kind).kernels
            steps.append(ChainStep(alias, transform, kind, predicate, negate, hidden, kernels))
    _share_headers(steps)
    # Records from other sources may be of any version.
    event_format = config.event_format_version if isinstance(config, ExecutionConfig) else None
    reading.check_asked_fields(steps, event_format)
    as_written = config.hidden.in_finding
    return ReadChain(
        Chain(tuple(steps)),
        [as_written(problem) for problem in reading.problems],
        [as_written(warning) for warning in reading.warnings],
    )


def _unknown_fail(config: TransformsConfig) -> bool | None:
    """Return whether unknown options are errors; None: only those that seem misspelt."""
    if isinstance(config, ExecutionConfig) and config.is_set("headrace.unknown.properties"):
        return config.headrace_unknown_properties == UnknownProperties.FAIL
    return None


def _share_headers(steps: Sequence[ChainStep]) -> None:
    """See SharesHeaders: a transform with `passes_records` does not make new records."""
    for step in steps:
        if isinstance(step.transform, SharesHeaders):
            step.transform.share_headers()
        if not getattr(step.transform, "passes_records", False):
            return


def chain_of(config: TransformsConfig) -> Chain:
    """Return the chain of a configuration.

    Raises HeadraceError("config.invalid") with all problems.
    """
    examined = examine_chain(config)
    if examined.problems:
        raise error_of(examined.problems)
    return examined.chain


def _options(members: Sequence[Member[str]], alias: str) -> dict[str, str]:
    """The options of one alias by name."""
    return {member.variables[1]: member.value for member in members if member.variables[0] == alias}


class _ChainReading:
    def __init__(self, inherited: Mapping[str, str], unknown_fail: bool | None) -> None:
        """`inherited`: the values of options that are not given. `unknown_fail`: whether unknown
        options are errors (`with_unknown_ones`)."""
        self._inherited, self._unknown_fail = inherited, unknown_fail
        self.problems: list[PropertyFinding] = []
        self.warnings: list[PropertyFinding] = []

    def problem(self, code: str, name: str, message: str, remedy: str) -> None:
        self.problems.append(PropertyFinding(code, name, message, remedy))

    def boolean(self, name: str, text: str) -> bool:
        if not text:
            return False
        try:
            return BOOLEAN.parse(text)
        except ValueError:
            self.problem(
                "config.impossible_value",
                name,
                f"{name} = {text!r}: expected {BOOLEAN.expects}",
                f"Set {name} to {BOOLEAN.expects}.",
            )
            return False

    def made(
        self,
        family: str,
        alias: str,
        options: dict[str, str],
        find: Callable[[str], Declaration[T]],
    ) -> T | None:
        """Return the object that `family.alias.type` names, made with its options; None if a
        problem was recorded."""
        prefix = f"{family}.{alias}."
        kind = options.pop("type", "").strip()
        if not kind:
            self.problem(
                "config.missing",
                f"{prefix}type",
                f"{prefix}type is missing (expected a class or a short name)",
                f"Set {prefix}type, or remove {alias} from {family}.",
            )
            return None
        try:
            declaration = find(kind)
        except HeadraceError as error:
            self.problem(
                error.code, f"{prefix}type", f"{prefix}type: {error.message}", error.remedy
            )
            return None
        if family == "transforms" and declaration.options is not OwnOptions:
            self._note_misspelt(options, prefix)
        configured = self._configured(
            declaration, self._current(declaration, options, prefix), prefix
        )
        if configured is None or callable(getattr(configured, _METHODS[family], None)):
            return configured
        what = family.removesuffix("s")
        self.problem(
            "transforms.wrong_kind",
            f"{prefix}type",
            f"{prefix}type: {kind} is not a {what}",
            f"A {what} has a method `{_METHODS[family]}`; a function is a transform.",
        )
        return None

    def check_asked_fields(self, steps: Sequence[ChainStep], event_format: str | None) -> None:
        """Record problems for structs that no envelope has, unless an earlier transform may have
        added them, and warnings for fields that events of `event_format` (None: any) do not
        have."""
        for step in steps:
            for option, field in getattr(step.transform, "asked_fields", ()):
                name = f"transforms.{step.alias}.{option}"
                if field.struct and field.struct not in STRUCTS:
                    near = nearest(field.struct, STRUCTS)
                    self.problem(
                        "transforms.no_such_field",
                        name,
                        f"{name}: no event has a struct {field.struct} ({field.reference})"
                        + (f"; did you mean {near}?" if near else ""),
                        f"Name op, a time, or a field of {', '.join(STRUCTS[:3])}.",
                    )
                former = getattr(step.transform, "former_fields", {}).get(field.reference)
                if former is not None and event_format not in (None, former):
                    self.warnings.append(
                        PropertyFinding(
                            "transforms.former_field",
                            name,
                            f"{name}: events have no {field.reference}; the field is null",
                            f"Set event.format.version={former}, or leave it out.",
                        )
                    )
            if not getattr(step.transform, "passes_records", False):
                return

    def _note_misspelt(self, options: dict[str, str], prefix: str) -> None:
        """Remove options that are almost certainly a misspelling of an option that every transform
        has, and record the finding: without that option the transform would apply to other
        records."""
        for name in list(options):
            meant = next(
                (option for option in _OF_EVERY if distance(name.lower(), option, 1) <= 1), None
            )
            if meant is not None:
                del options[name]
                misspelt = PropertyFinding(
                    UNKNOWN,
                    prefix + name,
                    f"{prefix}{name} is not a property of {prefix.removesuffix('.')}; "
                    f"did you mean {prefix}{meant}?",
                    f"Rename it to {prefix}{meant}.",
                )
                self._record([misspelt], [])

    def _record(
        self, problems: Sequence[PropertyFinding], warnings: Sequence[PropertyFinding]
    ) -> bool:
        """Record findings. Return whether some are problems."""
        problems, warnings = with_unknown_ones(problems, warnings, fail=self._unknown_fail)
        self.problems += problems
        self.warnings += warnings
        return bool(problems)

    def _current(
        self, declaration: Declaration[Any], options: dict[str, str], prefix: str
    ) -> Mapping[str, str]:
        """Return the options with former ones replaced, unless their successor is given as well."""
        if declaration.replacements is None:
            return options
        current = dict(options)
        with_compatibility = {_COMPATIBILITY: self._inherited[_COMPATIBILITY], **options}
        for replacement in declaration.replacements(with_compatibility):
            current.pop(replacement.former, None)
            if options.get(replacement.successor, "").strip():
                former, successor = prefix + replacement.former, prefix + replacement.successor
                self.warnings.append(superseded(former, successor))
                continue
            successors = ", ".join(
                f"{prefix}{name}={text}" for name, text in replacement.options.items()
            )
            self.warnings.append(
                PropertyFinding(
                    "config.former_option",
                    prefix + replacement.former,
                    f"{prefix}{replacement.former} is a former option and is read as "
                    f"{successors or 'nothing'}",
                    f"Write {successors}." if successors else "Remove it.",
                )
            )
            current.update(replacement.options)
        return current

    def _configured(
        self, declaration: Declaration[T], options: Mapping[str, str], prefix: str
    ) -> T | None:
        declared = declaration.options.properties()
        inherited = {name: text for name, text in self._inherited.items() if name in declared}
        options = {**inherited, **options}
        config, problems = declaration.options.examine(options, prefix=prefix)
        if self._record(problems, config.warnings):
            return None
        try:
            return declaration.make(config)
        except WrongOption as error:
            self.problem(error.code, prefix + error.option, prefix + error.message, error.remedy)
            return None
        except HeadraceError as error:
            name = prefix.removesuffix(".")
            self.problem(error.code, name, f"{name}: {error.message}", error.remedy)
            return None
