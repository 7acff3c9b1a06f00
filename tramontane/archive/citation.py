"""Whose results a bundle holds: what the study's own ``CITATION.cff`` says (Citation File Format 1.2).

A study that says nothing gives its data to nobody: then the bundle names no author and no licence.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.study.reading.reading import read_yaml

CITATION = "CITATION.cff"


#: The parts of a person's name, in the order in which they are said; one who has none of them may have an alias.
_PARTS = ("given-names", "name-particle", "family-names", "name-suffix")


@dataclass(frozen=True)
class Author:
    """A person or an organisation.

    Attributes
    ----------
    name : str
        Full name.
    person : bool
        False of an organisation.
    orcid : str, optional
        Address of the record at ORCID.
    """

    name: str
    person: bool
    orcid: str | None = None


@dataclass(frozen=True)
class Citation:
    """How a study wants to be cited.

    Attributes
    ----------
    title : str
        Its title.
    authors : tuple of Author
        Its authors.
    licences : tuple of str
        Identifiers of SPDX's list, of which one may be chosen.
    """

    title: str
    authors: tuple[Author, ...] = ()
    licences: tuple[str, ...] = ()


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
    title = said.get("title")
    if not isinstance(title, str):
        raise InputError(path, "title", title, "a title")
    told = said.get("license", [])
    licences = told if isinstance(told, list) else [told]
    if not all(isinstance(licence, str) for licence in licences):
        raise InputError(path, "license", told, "an identifier of SPDX, such as CC-BY-4.0, or a list of them")
    authors = said.get("authors", [])
    if not isinstance(authors, list) or not all(isinstance(author, dict) for author in authors):
        raise InputError(path, "authors", authors, "a list of people with family-names and given-names, or a name")
    found = tuple(_author(author) for author in authors)
    for place, author in enumerate(found):
        if not author.name:
            allowed = "family-names and given-names, or a name"
            raise InputError(path, f"authors[{place}]", authors[place], allowed)
    return Citation(title, found, tuple(licences))


def _author(said: dict[str, Any]) -> Author:
    person = "name" not in said
    parts = [said.get(key) for key in _PARTS] if person else [said["name"]]
    name = " ".join(str(part) for part in parts if part) or str(said.get("alias") or "")
    orcid = said.get("orcid")
    return Author(name, person, orcid if isinstance(orcid, str) else None)
