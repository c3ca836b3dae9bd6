"""A bill of materials as CycloneDX 1.6 in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component as Entry
from cyclonedx.model.component import ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.utils import NormalizedName

from release.components import Component


def bill_of(own: Component, dependencies: Mapping[NormalizedName, Component], epoch: int) -> str:
    """`own` and its dependencies, as of `epoch` (s since 1970). One release always has the same
    text. Raises RuntimeError where the text breaks the schema of CycloneDX."""
    entries = {name: _entry(each, ComponentType.LIBRARY) for name, each in dependencies.items()}
    root = _entry(own, ComponentType.APPLICATION)
    bill = Bom(
        components=entries.values(),
        serial_number=uuid5(NAMESPACE_URL, str(root.purl)),
        metadata=BomMetaData(component=root, timestamp=datetime.fromtimestamp(epoch, UTC)),
    )
    bill.register_dependency(root, [entries[name] for name in own.requires])
    for name, each in dependencies.items():
        bill.register_dependency(entries[name], [entries[needed] for needed in each.requires])
    text = JsonV1Dot6(bill).output_as_string(indent=2)
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if problem is not None:
        raise RuntimeError(f"The bill of materials of {own.name} is not CycloneDX 1.6: {problem}")
    return f"{text}\n"


def _entry(component: Component, kind: ComponentType) -> Entry:
    purl = PackageURL("pypi", None, component.name, component.version)
    pages = [
        ExternalReference(type=ExternalReferenceType.WEBSITE, url=XsUri(component.url))
        for _ in range(bool(component.url))
    ]
    return Entry(
        name=component.name,
        version=component.version,
        type=kind,
        bom_ref=str(purl),
        purl=purl,
        licenses=[LicenseFactory().make_from_string(component.licence)],
        external_references=pages,
    )
