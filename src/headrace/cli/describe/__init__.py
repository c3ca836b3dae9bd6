"""List a connector's properties, the transforms, or the errors: defaults, meanings, remedies."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from headrace.cli.describe.tables import print_page
from headrace.cli.describe.transforms import Found, options_named, options_with
from headrace.config.configuration import Configuration
from headrace.config.describe import Row, describe_markdown, describe_rows
from headrace.config.suggestions import Suggestions
from headrace.connectors.definition import ConnectorDefinition
from headrace.connectors.entry_points import values_of
from headrace.connectors.registry import definitions, find_definition
from headrace.errors import HeadraceError

_TRANSFORMS = "transforms"
_ERRORS = "errors"
_CONNECTORS = """# Connectors

`headrace describe CONNECTOR` lists the properties of one, `headrace describe transforms` the
transforms, `headrace describe errors` all errors.

| Connector | `connector.class` | Properties |
|---|---|---|
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    names = [definition.name for definition in definitions()]
    parser.add_argument(
        "connector",
        nargs="?",
        help="one of: "
        + ", ".join([*names, _TRANSFORMS, _ERRORS])
        + "; or a property (default: the list of connectors)",
    )
    parser.add_argument(
        "properties",
        nargs="*",
        metavar="PROPERTY",
        help="describe only these properties, transforms, or errors (by their codes)",
    )
    parser.add_argument(
        "--grep",
        metavar="TEXT",
        help="only properties, options of transforms, or errors that contain this text",
    )
    parser.add_argument("--markdown", action="store_true", help="print the reference page")
    parser.add_argument(
        "--pages",
        type=Path,
        metavar="FOLDER",
        help="with transforms: write a page for each one below this folder",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the properties by group, or the reference page; without a name, the connectors. Raises
    HeadraceError("describe.unknown_property") for a name that no connector has,
    ("describe.unknown_code") for a code that no error has, ("describe.is_a_transform") and
    ("describe.is_an_error") for names of those."""
    if arguments.connector is None:
        _describe_connectors(arguments)
        return 0
    if arguments.connector == _TRANSFORMS:
        return _describe_transforms(arguments)
    if arguments.connector == _ERRORS:
        _describe_errors(arguments)
        return 0
    if _names_a_property(arguments.connector):
        _describe_anywhere([arguments.connector, *arguments.properties])
        return 0
    declarations = _definition(arguments.connector).configuration()
    if arguments.markdown:
        print(describe_markdown(declarations, title=f"Properties: {arguments.connector}"), end="")
        return 0
    rows = describe_rows(declarations)
    if arguments.properties:
        rows = [row for name in arguments.properties for row in _rows_of(declarations, name)]
    rows = [row for row in rows if _matches(row, arguments.grep)]
    if not rows and arguments.grep is not None:
        raise _nothing_has(arguments.grep)
    _print_rows(rows)
    return 0


def _describe_connectors(arguments: argparse.Namespace) -> None:
    """Print the list of connectors; with `--grep`, the properties of all connectors that contain
    the text."""
    if arguments.grep is None:
        rows = "".join(
            f"| `{listed.name}` | {', '.join(f'`{class_name}`' for class_name in listed.classes)} "
            f"| {len(describe_rows(listed.configuration()))} |\n"
            for listed in definitions()
        )
        _print_page(_CONNECTORS + rows, arguments)
        return
    having: dict[Row, list[str]] = {}
    for definition in definitions():
        for row in describe_rows(definition.configuration()):
            if _matches(row, arguments.grep):
                having.setdefault(row, []).append(definition.name)
    rows_of: dict[str, list[Row]] = {}
    for row, names in having.items():
        rows_of.setdefault(", ".join(names), []).append(row)
    for heading, found in rows_of.items():
        _print_rows(found, heading)
    of_transforms = options_with(arguments.grep)
    if not (rows_of or of_transforms):
        raise _nothing_has(arguments.grep)
    _print_options(of_transforms)


def _describe_errors(arguments: argparse.Namespace) -> None:
    """Print all errors, or those whose codes are named."""
    from headrace.cli.describe.errors import forms_of, reference

    if arguments.markdown or not (arguments.properties or arguments.grep):
        _print_page(reference(arguments.properties), arguments)
        return
    listed = forms_of(arguments.properties)
    if arguments.grep is not None:
        lowered = arguments.grep.lower()
        listed = [
            form
            for form in listed
            if lowered in f"{form.code} {form.message} {form.remedy}".lower()
        ]
        if not listed:
            raise _nothing_has(arguments.grep)
    console = Console(soft_wrap=True, highlight=False)
    for form in listed:
        console.print(Text(form.code, style="bold"))
        console.print(Text(f"    {form.message}\n    remedy: {form.remedy}", style="dim"))


def _definition(name: str) -> ConnectorDefinition:
    """Return the definition of a connector. Raises as `find_definition`, and
    HeadraceError("describe.is_a_transform")."""
    try:
        return find_definition(name)
    except HeadraceError as error:
        from headrace.transforms.reference import short_names

        transform = short_names().get(name.rpartition(".")[2].partition("$")[0].lower())
        if transform is None:
            raise
        raise HeadraceError(
            "describe.is_a_transform",
            f"{transform} is not a connector, but a transform or predicate",
            f"headrace describe {_TRANSFORMS} {transform}",
        ) from error


def _print_page(page: str, arguments: argparse.Namespace) -> None:
    if arguments.markdown:
        print(page, end="")
    else:
        print_page(page)


def _print_options(options: Found) -> None:
    """Print options of transforms, by their transforms."""
    for name, rows in options.items():
        _print_rows([row._replace(group=f"Options of {name}") for row in rows])


def _nothing_has(text: str) -> HeadraceError:
    return HeadraceError(
        "describe.nothing_found",
        f"Nothing contains the text {text!r}",
        "`headrace describe --grep TEXT` searches properties and options of transforms, "
        f"`headrace describe {_ERRORS} --grep TEXT` searches errors.",
    )


def _describe_transforms(arguments: argparse.Namespace) -> int:
    """Print the pages of the named transforms, or the index of all, or write the pages below a
    folder."""
    from headrace.transforms.reference import index, page_of, pages, require_known

    if arguments.pages is not None:
        for path, page in pages().items():
            file = arguments.pages / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(page)
        return 0
    if arguments.grep is not None:
        options = options_with(arguments.grep)
        if arguments.properties:
            for name in arguments.properties:
                if not options_named(name):
                    require_known(name)
            named = {name.rpartition(".")[2].partition("$")[0] for name in arguments.properties}
            options = {name: rows for name, rows in options.items() if name in named}
        if not options:
            raise _nothing_has(arguments.grep)
        _print_options(options)
        return 0
    for name in arguments.properties:
        named_options = options_named(name)
        if named_options:
            _print_options(named_options)
        else:
            _print_page(page_of(name), arguments)
    if not arguments.properties:
        _print_page(index(), arguments)
    return 0


def _names_a_property(text: str) -> bool:
    """Return whether a text is a property's name: a value of connector.class has no dot, or begins
    like a Java package."""
    is_connector = any(text.lower() in values_of(definition) for definition in definitions())
    is_class = text.lower().startswith(("io.", "com.", "org."))
    return not (is_connector or is_class) and ("." in text or bool(options_named(text)))


def _describe_anywhere(names: Sequence[str]) -> None:
    """Print the properties as each connector declares them; connectors with the same declaration
    are listed under one heading."""
    for name in names:
        connectors_of: dict[Row, list[ConnectorDefinition]] = {}
        for definition in definitions():
            for row in _find(definition.configuration(), name):
                connectors_of.setdefault(row, []).append(definition)
        of_transforms = options_named(name)
        if not connectors_of and not of_transforms:
            raise _unknown(name, [definition.configuration() for definition in definitions()])
        for row, connectors in connectors_of.items():
            _print_rows([row], ", ".join(definition.name for definition in connectors))
        _print_options(of_transforms)


def _rows_of(declarations: type[Configuration], name: str) -> list[Row]:
    rows = list(_find(declarations, name))
    if not rows:
        raise _unknown(name, [declarations])
    return rows


def _find(declarations: type[Configuration], name: str) -> Iterator[Row]:
    """Yield the row of the property `name`, or of its family."""
    rows = {row.name: row for row in describe_rows(declarations)}
    lowered = {known.lower(): known for known in rows}
    if name.lower() in lowered:
        yield rows[lowered[name.lower()]]
        return
    for family in declarations.families().values():
        if not family.alias_of and family.pattern.fullmatch(name):
            yield rows[family.name]
            return


def _unknown(name: str, configurations: Sequence[type[Configuration]]) -> HeadraceError:
    guesses = (
        Suggestions(declared.properties(), declared.families()).find(name)
        for declared in configurations
    )
    near = next((guess for guess in guesses if guess), None)
    if near is None:
        from headrace.cli.describe.errors import codes

        if name in codes():
            return HeadraceError(
                "describe.is_an_error",
                f"{name} is not a property, but the code of an error",
                f"headrace describe {_ERRORS} {name}",
            )
    return HeadraceError(
        "describe.unknown_property",
        f"{name} is not a property" + (f"; did you mean {near}?" if near else ""),
        f"headrace describe {near}"
        if near
        else "`headrace describe --grep TEXT` looks for a text.",
    )


def _matches(row: Row, text: str | None) -> bool:
    searched = f"{row.name} {row.default} {row.values} {row.meaning}"
    return text is None or text.lower() in searched.lower()


def _print_rows(rows: Sequence[Row], heading: str = "") -> None:
    console = Console(soft_wrap=True, highlight=False)
    group = ""
    for row in rows:
        if row.group != group:
            group = row.group
            title = f"{group} ({heading})" if heading else group
            console.print(Text(f"\n{title}", style="bold underline"))
        head = Text(row.name, style="bold")
        if row.default:
            head.append(f"  = {row.default}", style="cyan")
        if row.status != "supported":
            head.append(f"  ({row.status})", style="yellow")
        console.print(head)
        console.print(Text(f"    {row.meaning} Values: {row.values}.", style="dim"))
