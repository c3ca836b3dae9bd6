"""List a connector's properties, or the transforms: defaults, meanings, what is supported."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from headrace.config.describe import describe_markdown, describe_rows
from headrace.connectors.registry import definitions, find_definition

_TRANSFORMS = "transforms"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    names = [definition.name for definition in definitions()]
    parser.add_argument(
        "connector",
        nargs="?",
        default=names[0],
        help=f"one of: {', '.join([*names, _TRANSFORMS])} (default: %(default)s)",
    )
    parser.add_argument("--markdown", action="store_true", help="print the reference page")


def run(arguments: argparse.Namespace) -> int:
    """Prints the properties by group, or the reference page."""
    if arguments.connector == _TRANSFORMS:
        from headrace.transforms.reference import reference

        page = reference()
        if arguments.markdown:
            print(page, end="")
        else:
            Console(soft_wrap=True).print(Markdown(page))
        return 0
    declarations = find_definition(arguments.connector).configuration()
    if arguments.markdown:
        print(describe_markdown(declarations, title=f"Properties: {arguments.connector}"), end="")
        return 0
    console = Console(soft_wrap=True, highlight=False)
    group = ""
    for row in describe_rows(declarations):
        if row.group != group:
            group = row.group
            console.print(Text(f"\n{group}", style="bold underline"))
        head = Text(row.name, style="bold")
        if row.default:
            head.append(f"  = {row.default}", style="cyan")
        if row.status != "supported":
            head.append(f"  ({row.status})", style="yellow")
        console.print(head)
        console.print(Text(f"    {row.meaning} Values: {row.values}.", style="dim"))
    return 0
