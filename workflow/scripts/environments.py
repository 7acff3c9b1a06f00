"""Writes workflow/envs: what each family of rules needs, with the pins of requirements.lock, as conda environments."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Packages of each family of rules, as PyPI calls them. MPI, and what launches its programs, are the system's.
COMMON = ("numpy", "pydantic", "pyyaml", "rich", "simpleeval", "snakemake", "typer")
FAMILIES = {
    "build": (*COMMON, "cmake", "ninja"),
    "measure": COMMON,
    "simulate": COMMON,
    "analyse": (*COMMON, "h5netcdf", "h5py", "jinja2", "matplotlib", "pandas", "plotly", "seaborn", "xarray"),
}
#: Names that differ on conda-forge and bioconda.
CONDA = {"matplotlib": "matplotlib-base", "snakemake": "snakemake-minimal"}

HEAD = """\
# Rules of {family}.smk, for those who let Snakemake deploy software with conda (`--sdm conda`); by default all run
# in .venv. Written by `make lock` with the pins of requirements.lock. The package itself comes from the checkout.
channels:
  - conda-forge
  - bioconda
dependencies:
  - python >=3.12
  - pip
"""


def pins(lock: str) -> dict[str, str]:
    """Return the version of each package of a lock, for the newest Python where there are several."""
    found = re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", lock, flags=re.MULTILINE)
    return {name.replace(".", "-").replace("_", "-"): version for name, version in sorted(found, key=_version)}


def _version(entry: tuple[str, str]) -> tuple[str, list[int]]:
    return entry[0], [int(part) for part in re.findall(r"\d+", entry[1])]


def environments(lock: str) -> dict[str, str]:
    """Return the text of each environment file, by the name of its family."""
    versions = pins(lock)
    texts = {}
    for family, packages in FAMILIES.items():
        names = sorted((CONDA.get(package, package), versions[package]) for package in packages)
        texts[family] = HEAD.format(family=family) + "".join(f"  - {name} ={version}\n" for name, version in names)
    return texts


def main() -> None:
    """Write the files."""
    for family, text in environments(Path(ROOT, "requirements.lock").read_text(encoding="utf-8")).items():
        Path(ROOT, "workflow", "envs", f"{family}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
