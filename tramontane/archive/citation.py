"""Whose results a bundle holds: what the study's own ``CITATION.cff`` says (Citation File Format 1.2).

A study that says nothing gives its data to nobody: then the bundle names no author and no licence.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.study.reading.reading import read_yaml

CITATION = "CITATION.cff"


@dataclass(frozen=True)
class Citation:
    """How a study wants to be cited.

    Attributes
    ----------
    title : str
        Its title.
    authors : tuple of str
        Names of its authors.
    licence : str, optional
        Identifier of SPDX's list.
    """

    title: str
    authors: tuple[str, ...] = ()
    licence: str | None = None


def citation(root: Path) -> Citation | None:
    """Return what a study's ``CITATION.cff`` says; None if there is none.

    Raises
    ------
    InputError
        If the file can't be read, or a key that is used has another form than the format asks for.
    """
    path = root / CITATION
    if not path.is_file():
        return None
    said = read_yaml(path)
    for key, allowed in (("title", "a title"), ("license", "an identifier of SPDX, such as CC-BY-4.0")):
        if not isinstance(said.get(key, "" if key == "license" else None), str):
            raise InputError(path, key, said.get(key), allowed)
    authors = said.get("authors", [])
    if not isinstance(authors, list) or not all(isinstance(author, dict) for author in authors):
        raise InputError(path, "authors", authors, "a list of people with family-names and given-names, or a name")
    names = tuple(_name(author) for author in authors)
    if not all(names):
        where = f"authors[{names.index('')}]"
        raise InputError(path, where, authors[names.index("")], "family-names and given-names, or a name")
    return Citation(said["title"], names, said.get("license"))


def _name(author: dict[str, Any]) -> str:
    parts = [author["name"]] if "name" in author else [author.get("given-names", ""), author.get("family-names", "")]
    return " ".join(str(part) for part in parts if part)
