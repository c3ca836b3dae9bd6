"""What a wheel depends on: distributions, their versions (those installed here) and licences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from email.parser import HeaderParser
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from release.licences import licence_of

NOT_OF_PRODUCT = ("dev", "golden", "release", "site")
"""Extras with tools; those whose names begin with `demo` bring servers to try and to test with."""
SERVERS_UNDER_SSPL = ("mongod", "mongos")
"""Names of the programs."""


@dataclass
class Component:
    """One distribution. `extras` are those that something asks of it; `requires` are the names of
    what it needs itself, with these extras."""

    name: NormalizedName
    version: str
    licence: str
    url: str
    texts: tuple[str, ...]
    """Its `Requires-Dist`."""
    extras: set[str] = field(default_factory=set)
    requires: set[NormalizedName] = field(default_factory=set)


def components_of(
    wheel: Path, siblings: Iterable[Path] = ()
) -> tuple[Component, Mapping[NormalizedName, Component]]:
    """A wheel with all of its extras but those of tools and demos, and what it depends on; wheels
    of `siblings` are taken in place of what is installed under their names.

    Raises importlib.metadata.PackageNotFoundError for what is not installed, and RuntimeError for
    what says no licence or has a server that is under the SSPL.
    """
    metadata = metadata_of(wheel)
    own = _component(metadata)
    own.extras = {
        extra
        for extra in metadata.get_all("Provides-Extra") or ()
        if extra not in NOT_OF_PRODUCT and not extra.startswith("demo")
    }
    beside = [_component(metadata_of(each)) for each in siblings]
    found: dict[NormalizedName, Component] = {}
    _add(own, own, found, {each.name: each for each in beside})
    return own, dict(sorted(found.items()))


def metadata_of(wheel: Path) -> Message:
    """The core metadata of a wheel."""
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(archive.read(name).decode())


def required(texts: Iterable[str], extras: Iterable[str]) -> Iterator[Requirement]:
    """Of the texts of `Requires-Dist`, what is needed here with these extras."""
    environments = [{"extra": extra} for extra in extras] or [{"extra": ""}]
    for text in texts:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate(each) for each in environments):
            yield requirement


def _add(
    component: Component,
    own: Component,
    found: dict[NormalizedName, Component],
    siblings: Mapping[NormalizedName, Component],
) -> None:
    """Add what `component` needs to `found`."""
    for requirement in required(component.texts, component.extras):
        name = canonicalize_name(requirement.name)
        if name == component.name:  # an extra that has others
            component.extras |= requirement.extras
            if component is not own:
                _add(component, own, found, siblings)
            continue
        component.requires.add(name)
        known = found.get(name)
        if known is None:
            known = found[name] = siblings.get(name) or _installed(requirement.name)
        elif requirement.extras <= known.extras:
            continue
        known.extras |= requirement.extras
        _add(known, own, found, siblings)


def _installed(name: str) -> Component:
    installed = distribution(name)
    if any(file.name in SERVERS_UNDER_SSPL for file in installed.files or ()):
        raise RuntimeError(
            f"{name} has MongoDB's server, which is under the SSPL, and a wheel depends on it "
            "beyond its demos and tests"
        )
    return _component(installed.metadata)


def _component(metadata: Any) -> Component:
    urls = dict(text.split(", ", 1) for text in metadata.get_all("Project-URL") or ())
    return Component(
        name=canonicalize_name(metadata["Name"]),
        version=str(metadata["Version"]),
        licence=licence_of(metadata),
        url=str(metadata.get("Home-page") or next(iter(urls.values()), "")),
        texts=tuple(metadata.get_all("Requires-Dist") or ()),
    )
