"""The Kustomize base: manifests that Kubernetes takes, and that fit together, headrace and the
Dockerfile."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from headrace.config.formats import read_text
from headrace.connectors.registry import parse_configuration
from tests.installation import ROOT
from tests.release.manifests import (
    BASE,
    FOLDER,
    Manifest,
    container,
    pod,
    read,
    rendered,
    resources,
)

VERSIONS = ("1.31", "1.34", "1.37")
"""Versions of Kubernetes whose schemas the manifests follow."""
UNKNOWN = ("ServiceMonitor",)
"""Kinds of operators, which have no schema among those of Kubernetes."""


def validate(manifest: Manifest, version: str) -> None:
    """Raises kubernetes_validate.ValidationError, also for a member that the schema lacks."""
    kubernetes_validate.validate(manifest, version, strict=True)


def selected(manifest: Manifest) -> Manifest:
    """A StatefulSet with the selector that Kustomize writes, which its schema asks for."""
    if manifest["kind"] != "StatefulSet":
        return manifest
    spec = manifest["spec"]
    return manifest | {"spec": {**spec, "selector": {"matchLabels": {"a": "b"}}}}


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_follow_the_schemas_of_kubernetes(version: str) -> None:
    manifests = resources(BASE)
    assert {each["kind"] for each in manifests} == {"Service", "StatefulSet"}
    for manifest in manifests:
        validate(selected(manifest), version)


def test_a_member_that_is_misspelt_breaks_the_schema() -> None:
    manifest = selected(read(BASE / "statefulset.yaml"))
    manifest["spec"]["template"]["spec"]["containers"][0]["livenessProb"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="livenessProb"):
        validate(manifest, VERSIONS[-1])


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("folder", [BASE, FOLDER / "example"], ids=lambda folder: folder.name)
def test_what_kustomize_makes_follows_the_schemas_and_names_what_is_there(folder: Path) -> None:
    manifests = rendered(folder)
    for manifest in manifests:
        if manifest["kind"] not in UNKNOWN:
            validate(manifest, VERSIONS[-1])
    names = {(each["kind"], each["metadata"]["name"]) for each in manifests}
    (stateful,) = (each["spec"] for each in manifests if each["kind"] == "StatefulSet")
    assert ("Service", stateful["serviceName"]) in names
    volumes = {each["name"]: each for each in stateful["template"]["spec"]["volumes"]}
    assert ("ConfigMap", volumes["configuration"]["configMap"]["name"]) in names
    if folder != BASE:  # the base leaves the Secret to whoever uses it
        assert ("Secret", volumes["credentials"]["secret"]["secretName"]) in names
        assert {"ServiceMonitor"} < {kind for kind, _ in names}
    labels = stateful["template"]["metadata"]["labels"]
    assert labels.items() >= stateful["selector"]["matchLabels"].items()


def test_one_pod_reads_a_slot_and_keeps_its_checkpoint() -> None:
    spec = read(BASE / "statefulset.yaml")["spec"]
    assert spec["replicas"] == 1
    (claim,) = spec["volumeClaimTemplates"]
    mounts = {each["name"]: each["mountPath"] for each in container()["volumeMounts"]}
    arguments = container()["args"]
    assert arguments[arguments.index("--checkpoint") + 1] == mounts[claim["metadata"]["name"]]
    assert arguments[1].startswith(mounts["configuration"] + "/")
    names = {volume["name"] for volume in pod()["volumes"]} | {claim["metadata"]["name"]}
    assert mounts.keys() == names


def test_the_pod_runs_as_the_user_of_the_image() -> None:
    (user,) = re.findall(r"^USER (\d+):(\d+)$", (ROOT / "Dockerfile").read_text(), re.M)
    context = pod()["securityContext"]
    assert user == (str(context["runAsUser"]), str(context["runAsGroup"]))
    assert context["fsGroup"] == context["runAsGroup"]
    assert context["runAsNonRoot"] is True
    (port,) = container()["ports"]
    assert re.findall(r"^EXPOSE (\d+)$", (ROOT / "Dockerfile").read_text(), re.M) == [
        str(port["containerPort"])
    ]


@pytest.mark.parametrize("folder", ["base", "example"])
def test_the_configuration_is_taken_with_files_of_the_secret(folder: str, tmp_path: Path) -> None:
    text = (FOLDER / folder / "application.properties").read_text()
    references = re.findall(r"\$\{dir:/secrets:(\w+)\}", text)
    assert references == ["user", "password"]
    (generated_secret,) = read(FOLDER / "example/kustomization.yaml")["secretGenerator"]
    assert {each.partition("=")[0] for each in generated_secret["literals"]} == {*references}
    for name in references:
        (tmp_path / name).write_text(f"the {name}")
    properties = read_text(text.replace("/secrets", str(tmp_path)))
    config: Any = parse_configuration(properties)
    assert config.warnings == ()
    assert config.database_user == "the user"
    assert "the password" not in repr(config)
