"""Describes a bundle as a research object crate (RO-Crate), which data repositories and search engines read."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from tramontane import __version__
from tramontane.archive.citation import Author, citation
from tramontane.results.store import POINTS
from tramontane.study.reading.project import REFERENCES
from tramontane.study.reading.reading import cached_yaml

_FORMATS = {
    ".nc": "application/x-netcdf",
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".html": "text/html",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".md": "text/markdown",
}
_SOFTWARE = "#tramontane"


def crate_metadata(
    root: Path,
    scale: str,
    sizes: Mapping[PurePosixPath, int],
    versions: Mapping[str, Any],
    cited: Collection[str],
) -> str:
    """Return the text of ``ro-crate-metadata.json``.

    Parameters
    ----------
    root : Path
        Folder that holds ``configs/references.yaml``, and ``CITATION.cff`` if the study has one.
    scale : str
        Scale of the campaign.
    sizes : mapping
        Files of the bundle with their sizes [B]; the records of points are described together.
    versions : mapping
        Content of ``versions.json``.
    cited : collection of str
        Publications that the experiments and statements name, by their keys in ``configs/references.yaml``.
    """
    crate = ROCrate()
    own = citation(root)
    crate.name = f"{own.title}: results of the {scale} campaign" if own else f"Results of the {scale} campaign"
    crate.description = (
        "Communication times of atmospheric models on simulated networks: records of all points, datasets, figures, "
        "report, what became of the papers' statements, and the configuration that made them."
    )
    if own and own.licences:
        licences = [_licence(crate, name) for name in own.licences]
        crate.license = licences if len(licences) > 1 else licences[0]
    if own and own.authors:
        crate.root_dataset["author"] = [_author(crate, n, author) for n, author in enumerate(own.authors, 1)]
    crate.keywords = ["communication", "network simulation", "numerical weather prediction"]
    crate.root_dataset["datePublished"] = versions["created"]
    records = PurePosixPath(POINTS.as_posix())
    for file, size in sorted(sizes.items()):
        if not file.is_relative_to(records):
            properties: dict[str, Any] = {"contentSize": str(size)}
            if file.suffix in _FORMATS:
                properties["encodingFormat"] = _FORMATS[file.suffix]
            crate.add_file(dest_path=str(file), properties=properties)
    crate.add_dataset(dest_path=f"{records}/", properties={"name": "Records of the points, one file each"})
    software = {
        "@type": "SoftwareApplication",
        "name": "Tramontane",
        "version": __version__,
        "identifier": versions["git_commit"],
    }
    crate.add(ContextEntity(crate, _SOFTWARE, properties=software))
    action = {
        "@type": "CreateAction",
        "name": versions["command"],
        "instrument": {"@id": _SOFTWARE},
        "result": {"@id": "./"},
        "endTime": versions["created"],
    }
    crate.add(ContextEntity(crate, "#campaign", properties=action))
    crate.root_dataset["mentions"] = [{"@id": "#campaign"}]
    known = cached_yaml(root / REFERENCES) if cited else {}
    crate.root_dataset["citation"] = [_publication(crate, known[key]) for key in cited]
    crate.metadata["dateModified"] = versions["created"]
    return json.dumps(crate.metadata.generate(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _licence(crate: ROCrate, name: str) -> Any:
    properties = {"@type": "CreativeWork", "name": name}
    return crate.add(ContextEntity(crate, f"https://spdx.org/licenses/{name}", properties))


def _author(crate: ROCrate, number: int, author: Author) -> Any:
    properties = {"@type": "Person" if author.person else "Organization", "name": author.name}
    return crate.add(ContextEntity(crate, author.orcid or f"#author-{number}", properties))


def _publication(crate: ROCrate, entry: Mapping[str, Any]) -> Any:
    name = f"https://doi.org/{entry['doi']}" if entry.get("doi") else f"#{entry['title'][:40]}".replace(" ", "-")
    properties = {
        "@type": "ScholarlyArticle",
        "name": entry["title"],
        "author": entry["authors"],
        "datePublished": str(entry["year"]),
    }
    return crate.add(ContextEntity(crate, name, properties=properties))
