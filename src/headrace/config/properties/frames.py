"""Transforms of DataFrames: the relevant properties of a connector, and the format of the input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headrace.config.finding import PropertyFinding
from headrace.config.formats import Properties, read_mapping
from headrace.config.kinds import TEXT
from headrace.config.properties.compatibility import CompatibilityConfig, RecordBoundsConfig
from headrace.config.properties.converters import ConverterConfig
from headrace.config.properties.modes import ConverterName
from headrace.config.properties.transforms import FailedRecordsConfig, TransformsConfig
from headrace.config.property import Group, PassThrough, Property

INPUT = "headrace.input."
_ROLES = ("key", "value", "header")
_FAMILIES = ("transforms", "predicates", "errors", *(f"{role}.converter" for role in _ROLES))
_READ = (ConverterName.JSON, ConverterName.AVRO, ConverterName.STRING, ConverterName.BYTES)


class ChainConfig(ConverterConfig, TransformsConfig, FailedRecordsConfig):
    """Properties of records, wherever they come from: transforms, handling of records that fail in
    them, and converters."""

    @classmethod
    def concerned(cls, properties: Mapping[str, str]) -> dict[str, str]:
        """Return a connector's properties that concern transforms and converters."""
        shared = {**CompatibilityConfig.properties(), **RecordBoundsConfig.properties()}
        return {
            name: text
            for name, text in properties.items()
            if name in shared
            or any(name == family or name.startswith(f"{family}.") for family in _FAMILIES)
        }


class FrameConfig(ChainConfig):
    """Properties of the records of a DataFrame."""

    name = Property(
        "name", TEXT, "", Group.CONVERTERS, "A name that dead letters say in their headers."
    )
    headrace_input_topic = Property(
        "headrace.input.topic",
        TEXT,
        "",
        Group.CONVERTERS,
        "The topic of records of which the DataFrame says none.",
    )
    headrace_input = PassThrough(
        "headrace.input.*",
        TEXT,
        Group.CONVERTERS,
        "How the input is read where that is not as the output is written: the names of "
        "converters and their options after this prefix.",
        case_matters=False,
    )

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        for role in ("key", "value"):
            if self.converter(role) in (ConverterName.VARIANT, ConverterName.ROW):
                name = f"{role}.converter"
                yield PropertyFinding(
                    "config.not_supported",
                    name,
                    f"{name} = {self.converter(role).value} is for the source of a connector",
                    "Write JSON, and read columns from it with headrace.table.",
                )


class InputConfig(ConverterConfig):
    """Properties of the converters that wrote the input."""

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        for role in _ROLES:
            readable = (*_READ, ConverterName.SIMPLE) if role == "header" else _READ
            if self.converter(role) not in readable:
                name = f"{role}.converter"
                yield PropertyFinding(
                    "config.not_supported",
                    name,
                    f"{name} = {self.converter(role).value} is written, and not read",
                    f"Set {INPUT}{name} to what wrote the input: "
                    + ", ".join(converter.value for converter in readable)
                    + ".",
                )


@dataclass(frozen=True)
class FrameSettings:
    """The settings of a DataFrame's transforms."""

    output: FrameConfig
    input: InputConfig
    prefixes: Mapping[str, str]
    """The prefix of the input's options, by role."""


def examine_frame(
    properties: Mapping[str, object],
) -> tuple[FrameSettings, list[PropertyFinding]]:
    """Return the settings of properties, and their problems. If `connector.class` is set,
    properties of the connector that do not concern transforms are left out."""
    parsed = properties if isinstance(properties, Properties) else read_mapping(properties)
    of_connector = "connector.class" in parsed
    of_output = dict(parsed)
    if of_connector:
        of_input = {n: text for n, text in parsed.items() if n.startswith(INPUT) or n == "name"}
        of_output = ChainConfig.concerned(parsed) | of_input
    output, problems = FrameConfig.examine(of_output)
    inherited, prefixes = _input_texts(of_output)
    read, unreadable = InputConfig.examine(inherited)
    written = {problem.property for problem in problems}
    for problem in unreadable:
        role = problem.property.partition(".")[0]
        prefix = prefixes.get(role, "").removesuffix(f"{role}.converter")
        if prefix:
            text = problem.message.replace(problem.property, prefix + problem.property)
            problems.append(problem._replace(property=prefix + problem.property, message=text))
        elif problem.property not in written:
            problems.append(problem)
    return FrameSettings(output, read, prefixes), problems


def _input_texts(properties: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the input's converters and options, by their plain names, and the prefixes of roles.

    A role whose converter `headrace.input.` names has its options only with that prefix; other
    roles are read with the output's options, except for those with that prefix.
    """
    texts: dict[str, str] = {}
    prefixes: dict[str, str] = {}
    for role in _ROLES:
        name = f"{role}.converter"
        here = {n: t for n, t in properties.items() if _is_option(n, INPUT + name)}
        prefixes[role] = INPUT + name if here else name
        if INPUT + name not in here:
            texts |= {n: t for n, t in properties.items() if _is_option(n, name)}
        texts |= {n.removeprefix(INPUT): t for n, t in here.items()}
    return texts, prefixes


def _is_option(name: str, of: str) -> bool:
    return name == of or name.startswith(f"{of}.")
