"""Write a release: `python -m release FOLDER`, which is emptied before."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from release.bill import bill_of
from release.checksums import write_checksums
from release.components import components_of
from release.contents import refuse_sspl
from release.distributions import built_in, check
from release.licences import licence_list

ROOT = Path(__file__).parents[1]


def main(folder: Path) -> None:
    """Raises RuntimeError where something must not be released."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    built = [built_in(checkout, folder, _epoch()) for checkout in (ROOT, ROOT / "demo")]
    for distribution in built:
        for artefact in distribution.artefacts:
            refuse_sspl(artefact)
        others = [each.wheel for each in built if each is not distribution]
        own, dependencies = components_of(distribution.wheel, others)
        name = distribution.wheel.name.partition("-py3")[0]
        (folder / f"{name}.cdx.json").write_text(bill_of(own, dependencies, _epoch()))
        (folder / f"{name}-licences.txt").write_text(licence_list(own, dependencies))
    check([artefact for distribution in built for artefact in distribution.artefacts])
    write_checksums(folder)
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:>9,}  {path.name}")


def _epoch() -> int:
    """The time of the release in s since 1970: that of its commit, where the caller says it."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except RuntimeError as error:
        sys.exit(str(error))
