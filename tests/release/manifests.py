"""The manifests of deploy/kubernetes, and what their containers are started with."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.installation import ROOT

FOLDER = ROOT / "deploy/kubernetes"
BASE = FOLDER / "base"

Manifest = dict[str, Any]


def read(path: Path) -> Manifest:
    manifest: Manifest = yaml.safe_load(path.read_text())
    return manifest


def resources(folder: Path) -> list[Manifest]:
    """The manifests that a kustomization names as files."""
    named = read(folder / "kustomization.yaml").get("resources", [])
    return [read(folder / name) for name in named if (folder / name).is_file()]


def rendered(folder: Path) -> list[Manifest]:
    """The output of `kubectl kustomize` for a folder."""
    command = ["kubectl", "kustomize", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return [*yaml.safe_load_all(run.stdout)]


def container() -> Manifest:
    """The only container of the base's pod."""
    (only_container,) = pod()["containers"]
    return dict(only_container)


def pod() -> Manifest:
    """The specification of the base's pod."""
    return dict(read(BASE / "statefulset.yaml")["spec"]["template"]["spec"])
