"""The version, which is written only here: the distributions of headrace and of
headrace-demo, the command line, metrics and support bundles take it from here."""

from __future__ import annotations

VERSION = "0.2.0"
