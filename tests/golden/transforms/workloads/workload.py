"""The content of a workload: the configurations of one transform that are recorded, and their
records.

A table of options and their values makes the first cases, so each value occurs by construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

ABSENT = "\0absent"


@dataclass(frozen=True)
class Option:
    """The values of an option, each recorded in a case of its own.

    `beside` are other options that these cases need, `records` the names of their records (those of
    the transform when empty).
    """

    name: str
    values: tuple[str, ...]
    beside: Mapping[str, str] = field(default_factory=dict)
    records: tuple[str, ...] = ()


@dataclass(frozen=True)
class Configured:
    """A case: properties as a user of Kafka Connect writes them, and the names of its records."""

    name: str
    properties: Mapping[str, str]
    records: tuple[str, ...]


@dataclass(frozen=True)
class Workload:
    """The cases of one recording, and the options whose values must occur in them."""

    name: str
    options: Mapping[str, tuple[Option, ...]]  # of each class
    cases: tuple[Configured, ...]


def chain(*steps: Mapping[str, str], **predicates: Mapping[str, str]) -> dict[str, str]:
    """The properties of a chain of transforms, named t, t2, t3…, with predicates by name."""
    names = ["t", *(f"t{number}" for number in range(2, len(steps) + 1))]
    properties = {"transforms": ",".join(names)}
    for name, step in zip(names, steps, strict=True):
        properties |= {f"transforms.{name}.{option}": text for option, text in step.items()}
    if predicates:
        properties["predicates"] = ",".join(predicates)
    for name, predicate in predicates.items():
        properties |= {f"predicates.{name}.{option}": text for option, text in predicate.items()}
    return properties


@dataclass(frozen=True)
class Transform:
    """A class with its options: makes cases. `required` are options that every case has."""

    type: str
    options: tuple[Option, ...]
    records: tuple[str, ...]
    required: Mapping[str, str] = field(default_factory=dict)
    label: str = ""  # of the cases' names, where one workload has several classes

    def case(
        self, name: str, options: Mapping[str, str], records: Iterable[str] = ()
    ) -> Configured:
        """A case of these options beside the required ones; ABSENT removes one of those."""
        merged = {"type": self.type, **self.required, **options}
        step = {option: text for option, text in merged.items() if text != ABSENT}
        label = f"{self.label} " if self.label else ""
        return Configured(label + name, chain(step), tuple(records) or self.records)

    def option_cases(self) -> list[Configured]:
        """A case with the required options alone, and one for each value of each option."""
        cases = [self.case("as required", {})]
        for option in self.options:
            cases += [
                self.case(
                    f"{option.name}={value}", {**option.beside, option.name: value}, option.records
                )
                for value in option.values
            ]
        return cases


def workload(name: str, transforms: Iterable[Transform], more: Iterable[Configured]) -> Workload:
    """The cases of the transforms' options, then `more`."""
    transform_list = tuple(transforms)
    cases = [case for transform in transform_list for case in transform.option_cases()]
    options = {transform.type: transform.options for transform in transform_list}
    unique: dict[str, Configured] = {}
    for case in [*cases, *more]:
        assert unique.setdefault(case.name, case) is case, f"{name}: {case.name} occurs twice"
    return Workload(name, options, tuple(unique.values()))


KAFKA = "org.apache.kafka.connect.transforms."


def key_and_value(
    name: str,
    options: tuple[Option, ...],
    records: tuple[str, ...],
    required: Mapping[str, str],
) -> tuple[Transform, Transform]:
    """A transform of Kafka for the key, and the same for the value."""
    key, value = (
        Transform(f"{KAFKA}{name}${side}", options, records, required, side)
        for side in ("Key", "Value")
    )
    return key, value
