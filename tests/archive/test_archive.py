"""The bundle of a campaign: written whole, verified anywhere, and drawn from without simulating."""

import errno
import gzip
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from rocrate.rocrate import ROCrate

from analysis import report
from analysis.draw import draw_files
from tramontane.archive import contents, verify_archive, write_archive
from tramontane.archive.citation import citation
from tramontane.campaign.plan import Plan
from tramontane.errors import InputError
from tramontane.results import manifest
from tramontane.results.collate import collate_manifest
from tramontane.results.datasets import RECORDS, read, write
from tramontane.results.store import Store
from tramontane.support.files import UnwritableError
from tramontane.support.layout import Layout

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def first_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first campaign is kept, of which the others are copies."""
    return tmp_path_factory.mktemp("first") / "project"


@pytest.fixture
def campaign(project: Path, execute: Callable[..., Plan], first_made: Path) -> Path:
    """The root of a project whose campaign has ended with a report; its results are made up."""
    if first_made.exists():
        return Path(shutil.copytree(first_made, project, dirs_exist_ok=True))
    for name in ("claims", "machines", "paper", "workloads"):
        shutil.copytree(ROOT / "configs" / name, project / "configs" / name)
    shutil.copy(ROOT / "configs" / "references.yaml", project / "configs")
    file = project / "configs" / "experiments" / "tiny.yaml"
    file.write_text(f"{file.read_text()}references: [Z]\n")
    shutil.copytree(ended(project, execute), first_made)
    return project


def ended(project: Path, execute: Callable[..., Plan]) -> Path:
    """Run the campaign of a project to its report."""
    plan = execute(project)
    layout = plan.layout
    for experiment in plan.experiments:
        dataset = layout.dataset(experiment.name)
        write(collate_manifest(experiment.manifest, Store(project)), dataset)
        draw_files([dataset], layout.figures(experiment.name)[0].with_suffix(""))
    report.write([layout.dataset("tiny")], layout.report, "smoke", "make reproduce SCALE=smoke")
    return project


def rewritten(bundle: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """Return a copy of a bundle with changed members; those that become None are left out."""
    other = bundle.with_name("changed.zip")
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return other


def test_what_is_left_of_an_experiment_that_is_gone_is_not_in_a_bundle(campaign: Path, tmp_path: Path) -> None:
    layout = Layout(campaign, "smoke")
    for path in [*layout.folder.rglob("tiny.*")]:
        other = path.with_name(path.name.replace("tiny", "gone"))
        other.write_bytes(path.read_bytes())
    write_archive(campaign, "smoke", tmp_path / "campaign.zip")
    assert verify_archive(tmp_path / "campaign.zip").problems == ()
    with zipfile.ZipFile(tmp_path / "campaign.zip") as opened:
        assert not [name for name in opened.namelist() if "gone" in name]


@pytest.mark.parametrize(
    ("old", "new"), [("title: ", "title: More "), ("repeats: 1", "repeats: 2"), ("[2, 4, 8]", "[2, 4]")]
)
def test_an_experiment_that_was_changed_and_not_run_again_is_not_archived(
    campaign: Path, tmp_path: Path, old: str, new: str
) -> None:
    file = campaign / "configs/experiments/tiny.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(InputError) as caught:
        write_archive(campaign, "smoke", tmp_path / "campaign.zip")
    assert "tiny.yaml: changed since then; allowed: an experiment as it was run; run it again by:" in str(caught.value)
    assert not (tmp_path / "campaign.zip").exists()


def test_a_bundle_is_verified_and_drawn_from_elsewhere(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "campaign.zip"
    number = write_archive(campaign, "smoke", bundle)
    found = verify_archive(bundle)
    assert found.problems == ()
    assert (found.files, found.experiments, found.records, found.points) == (number, 1, 5, 5)

    # The same results give the same file.
    again = tmp_path / "again.zip"
    write_archive(campaign, "smoke", again)
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(bundle.read_bytes()).digest()
    assert {path.name for path in tmp_path.iterdir()} == {"project", "campaign.zip", "again.zip"}

    # Elsewhere: everything that was made of the records is thrown away, and made anew.
    elsewhere = tmp_path / "elsewhere"
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(elsewhere)
    before = {name: (elsewhere / name).read_bytes() for name in ("results/smoke/figures/tiny.svg",)}
    with xr.open_dataset(elsewhere / "results/smoke/datasets/tiny.nc", engine="h5netcdf") as opened_dataset:
        dataset = opened_dataset.load()
    for name in ("datasets", "figures", "report.html"):
        path = elsewhere / "results" / "smoke" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    records = sorted(path.name for path in (elsewhere / "results" / "points").rglob("*.json"))
    command = [sys.executable, "-m", "tramontane", "reproduce", "--scale", "smoke", "--no-run"]
    done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (elsewhere / "results" / "smoke" / "report.html").exists()
    for name, data in before.items():
        assert (elsewhere / name).read_bytes() == data
    with xr.open_dataset(elsewhere / "results/smoke/datasets/tiny.nc", engine="h5netcdf") as opened_dataset:
        xr.testing.assert_identical(opened_dataset.load(), dataset)
    assert sorted(path.name for path in (elsewhere / "results" / "points").rglob("*.json")) == records

    # What was unpacked is a research object crate, and says what it is.
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(tmp_path / "crate")
    crate = ROCrate(tmp_path / "crate")
    assert "smoke campaign" in str(crate.name)
    kinds = {str(entity.type) for entity in crate.contextual_entities}
    assert {"SoftwareApplication", "CreateAction", "ScholarlyArticle"} <= kinds
    assert any(str(entity.id).endswith("tiny.nc") for entity in crate.data_entities)
    verdicts = json.loads((tmp_path / "crate" / "claims.json").read_text())
    assert {"id", "verdict", "evidence"} <= set(verdicts[0])

    # And whoever has no Tramontane has sha256sum.
    if shutil.which("sha256sum"):
        sums = ["sha256sum", "--check", "--quiet", "manifest-sha256.txt"]
        assert subprocess.run(sums, cwd=tmp_path / "crate", check=False).returncode == 0


def test_what_is_wrong_with_a_bundle_is_named(campaign: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "campaign.zip"
    some = next((campaign / "results" / "points").rglob("*.json"))
    matrix = some.with_name(f"{some.stem}.congestion.json.gz")  # lies beside the record it belongs to
    known = Store(campaign).read(some.stem)
    known["result"]["congestion"] = {"bins": 1, "packets": [[1]], "sum_s": [[0.0]], "max_s": [[0.0]]}
    Store(campaign).write(known)
    layout = Layout(campaign, "smoke")
    write(collate_manifest(manifest.read(layout.manifest("tiny")), Store(campaign)), layout.dataset("tiny"))
    write_archive(campaign, "smoke", bundle)
    with zipfile.ZipFile(bundle) as opened:
        names = opened.namelist()
    other = forged(bundle, matrix.relative_to(campaign).as_posix(), lambda data: gzip.compress(b"{}"))
    does_not = f"{some.relative_to(campaign).as_posix()}: {matrix.name} does not belong to it"
    assert verify_archive(other).problems == (does_not,)
    assert matrix.relative_to(campaign).as_posix() in names
    record = next(name for name in names if name.startswith("results/points/"))
    dataset = "results/smoke/datasets/tiny.nc"

    def problems(change: Callable[[str, bytes], bytes | None]) -> tuple[str, ...]:
        return verify_archive(rewritten(bundle, change)).problems

    assert problems(lambda name, data: data) == ()
    assert problems(lambda name, data: data + b" " if name == record else data) == (f"{record} has changed",)
    assert problems(lambda name, data: None if name == record else data) == (f"{record} is missing",)
    assert f"{dataset} is missing" in problems(lambda name, data: None if name == dataset else data)
    assert "versions.json is missing" in problems(lambda name, data: None if name == "versions.json" else data)

    # A file that nobody knows of, and one that the list forgets together with it.
    with zipfile.ZipFile(tmp_path / "changed.zip", "a") as opened:
        opened.writestr("../outside", b"")
    assert "../outside lies outside the bundle" in verify_archive(tmp_path / "changed.zip").problems
    forgetful = problems(
        lambda name, data: (
            b"".join(line for line in data.splitlines(keepends=True) if dataset.encode() not in line)
            if name == "manifest-sha256.txt"
            else None
            if name == dataset
            else data
        )
    )
    assert forgetful == (f"{dataset} is missing",)


def test_a_dataset_of_other_records_is_neither_archived_nor_verified(campaign: Path, tmp_path: Path) -> None:
    """As after records were lost, and a campaign ran with --no-run."""
    bundle = tmp_path / "campaign.zip"
    write_archive(campaign, "smoke", bundle)
    lost = sorted((campaign / "results" / "points").rglob("*.json"))[0]
    found = verify_archive(forged(bundle, lost.relative_to(campaign).as_posix(), lambda data: None))
    assert found.problems == ("the dataset of tiny was made of other records",)
    assert (found.records, found.points) == (4, 5)
    lost.unlink()
    with pytest.raises(InputError, match=r"tiny\.nc: made of other records; allowed: a dataset of the records"):
        write_archive(campaign, "smoke", tmp_path / "other.zip")
    assert not (tmp_path / "other.zip").exists()


def test_an_older_dataset_is_held_against_which_records_are_there(campaign: Path, tmp_path: Path) -> None:
    """It has no digest of them."""
    bundle, name = tmp_path / "campaign.zip", "results/smoke/datasets/tiny.nc"
    write_archive(campaign, "smoke", bundle)
    older = read(campaign / name)
    del older.attrs[RECORDS]
    write(older, campaign / name)
    bundle = forged(bundle, name, lambda _: (campaign / name).read_bytes()).rename(tmp_path / "older.zip")
    assert verify_archive(bundle).problems == ()
    lost = sorted((campaign / "results" / "points").rglob("*.json"))[0].relative_to(campaign).as_posix()
    found = verify_archive(forged(bundle, lost, lambda _: None))
    assert found.problems == ("the dataset of tiny was made of other records",)


def test_names_of_experiments_may_have_dots(campaign: Path, tmp_path: Path, execute: Callable[..., Plan]) -> None:
    folder = campaign / "configs" / "experiments"
    shutil.copy(folder / "tiny.yaml", folder / "tiny.more.yaml")
    ended(campaign, execute)
    (folder / "tiny.yaml").unlink()
    write_archive(campaign, "smoke", tmp_path / "campaign.zip")
    found = verify_archive(tmp_path / "campaign.zip")
    assert (found.experiments, found.problems) == (1, ())
    with zipfile.ZipFile(tmp_path / "campaign.zip") as opened:
        datasets = [name for name in opened.namelist() if name.endswith(".nc")]
    assert datasets == ["results/smoke/datasets/tiny.more.nc"]


def test_a_bundle_names_whom_the_study_names_and_what_it_cites(campaign: Path, tmp_path: Path) -> None:
    def described() -> dict[str, Any]:
        write_archive(campaign, "smoke", tmp_path / "campaign.zip")
        assert verify_archive(tmp_path / "campaign.zip").problems == ()
        with zipfile.ZipFile(tmp_path / "campaign.zip") as opened:
            entities = json.loads(opened.read(contents.CRATE))["@graph"]
        return {entity["@id"]: entity for entity in entities}

    shutil.rmtree(campaign / "configs" / "claims")
    (campaign / "configs" / "wörds and blanks.csv").write_text("a\n")
    crate = described()
    assert crate["./"]["name"] == "Results of the smoke campaign"
    assert not {"license", "author"} & crate["./"].keys()
    assert crate["./"]["citation"] == [{"@id": "https://doi.org/10.5194/gmd-11-3409-2018"}]

    (campaign / "CITATION.cff").write_text(
        "cff-version: 1.2.0\ntitle: Our winds\nlicense: CC-BY-4.0\n"
        "authors: [{family-names: Lovelace, given-names: Ada}, {name: Our centre}]\n"
    )
    crate = described()
    assert crate["./"]["name"] == "Our winds: results of the smoke campaign"
    assert crate["./"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert [crate[author["@id"]]["name"] for author in crate["./"]["author"]] == ["Ada Lovelace", "Our centre"]
    assert "CITATION.cff" in crate

    (campaign / "CITATION.cff").write_text(
        "cff-version: 1.2.0\ntitle: Our winds\nlicense: [CC-BY-4.0, MIT]\nauthors:\n"
        "- {given-names: Jan, name-particle: van der, family-names: Meer, name-suffix: Jr., affiliation: Our centre,\n"
        "   orcid: https://orcid.org/0000-0002-1825-0097}\n"
        "- {name: Our centre, website: https://example.org}\n- {alias: windy}\n"
    )
    crate = described()
    assert [crate[licence["@id"]]["name"] for licence in crate["./"]["license"]] == ["CC-BY-4.0", "MIT"]
    authors = [crate[author["@id"]] for author in crate["./"]["author"]]
    assert [(author["@type"], author["name"]) for author in authors] == [
        ("Person", "Jan van der Meer Jr."),
        ("Organization", "Our centre"),
        ("Person", "windy"),
    ]
    assert authors[0]["@id"] == "https://orcid.org/0000-0002-1825-0097"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("license: MIT\n", "title: found nothing; allowed: a title"),
        (
            "title: A\nlicense: [3]\n",
            "license: found [3]; allowed: an identifier of SPDX, such as CC-BY-4.0, or a list",
        ),
        ("title: A\nlicense: 3\n", "license: found 3; allowed: an identifier of SPDX, such as CC-BY-4.0, or a list"),
        ("title: A\nauthors: Ada\n", "authors: found 'Ada'; allowed: a list of people"),
        ("title: A\nauthors: [{orcid: x}]\n", "authors[0]: found {orcid: 'x'}; allowed: family-names and given"),
    ],
)
def test_a_citation_that_says_nothing_is_one_line(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "CITATION.cff").write_text(text)
    with pytest.raises(InputError) as caught:
        citation(tmp_path)
    assert f"CITATION.cff: {line}" in str(caught.value)


def test_an_experiment_without_its_figure_is_not_archived(campaign: Path, tmp_path: Path) -> None:
    Layout(campaign, "smoke").figures("tiny")[0].unlink()
    with pytest.raises(InputError, match=r"figures/tiny\.svg: no such file; allowed: the files of 'tiny'"):
        write_archive(campaign, "smoke", tmp_path / "campaign.zip")


def test_an_experiment_without_its_dataset_is_not_archived(campaign: Path, tmp_path: Path) -> None:
    """As where a point was added, and the run was stopped before there was a new one."""
    Layout(campaign, "smoke").dataset("tiny").unlink()
    with pytest.raises(InputError, match=r"datasets/tiny\.nc: no such file; allowed: the files of 'tiny'"):
        write_archive(campaign, "smoke", tmp_path / "campaign.zip")
    assert not (tmp_path / "campaign.zip").exists()


@pytest.mark.parametrize(
    "place",
    [
        "results/smoke/old.zip",
        *(pytest.param(place, marks=pytest.mark.long) for place in ("results/old.zip", "configs/experiments/old.zip")),
    ],
)
def test_a_bundle_does_not_lie_in_what_is_archived(campaign: Path, place: str) -> None:
    with pytest.raises(InputError, match=r"old\.zip: lies in (results|configs)/; allowed: a file outside"):
        write_archive(campaign, "smoke", campaign / place)
    assert not (campaign / place).exists()


def test_a_full_disk_is_told_with_the_file(campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tramontane.archive import bundle

    def fail(*arguments: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(bundle, "_put", fail)
    with pytest.raises(UnwritableError, match=r"No space left on device: '.*/campaign\.zip'"):
        write_archive(campaign, "smoke", tmp_path / "campaign.zip")


def test_folders_in_a_bundle_are_looked_at_too(campaign: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "campaign.zip"
    write_archive(campaign, "smoke", bundle)
    link = zipfile.ZipInfo("results/evil/")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(bundle, "a") as opened:
        for entry in (
            zipfile.ZipInfo("../../evil/"),
            zipfile.ZipInfo("/evil/"),
            link,
            zipfile.ZipInfo("results/good/"),
        ):
            opened.writestr(entry, b"")
    assert verify_archive(bundle).problems == (
        "../../evil/ lies outside the bundle",
        "/evil/ lies outside the bundle",
        "results/evil/ is a link",
    )


def test_a_damaged_file_is_no_traceback(campaign: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "campaign.zip"
    write_archive(campaign, "smoke", bundle)
    data = bytearray(bundle.read_bytes())
    data[len(data) // 3] ^= 0xFF
    bundle.write_bytes(data)
    assert verify_archive(bundle).problems
    bundle.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"campaign.zip: damaged, or no ZIP file"):
        verify_archive(bundle)


def test_mistakes_are_one_line_and_leave_nothing(project: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file; allowed: a campaign with its report"):
        write_archive(project, "smoke", tmp_path / "campaign.zip")
    with pytest.raises(InputError, match=r"a name that ends in \.zip"):
        write_archive(project, "smoke", tmp_path / "campaign.tar")
    with pytest.raises(InputError, match="no folder"):
        write_archive(project, "smoke", tmp_path / "nowhere" / "campaign.zip")
    with pytest.raises(InputError, match="no such file"):
        verify_archive(tmp_path / "campaign.zip")
    with pytest.raises(InputError, match="found a folder"):
        verify_archive(tmp_path)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as opened:
        opened.writestr("a", b"")
    with pytest.raises(InputError, match=r"no manifest-sha256\.txt in it"):
        verify_archive(tmp_path / "other.zip")
    assert {path.name for path in tmp_path.iterdir()} == {"project", "other.zip"}


def test_a_run_that_ends_early_leaves_no_bundle(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tramontane.archive import bundle

    def fail(*arguments: object) -> str:
        raise OSError("no space left on device")

    (tmp_path / "campaign.zip").write_text("an older one")
    monkeypatch.setattr(bundle, "_put", fail)
    with pytest.raises(OSError, match="no space"):
        write_archive(campaign, "smoke", tmp_path / "campaign.zip")
    assert (tmp_path / "campaign.zip").read_text() == "an older one"
    assert {path.name for path in tmp_path.iterdir()} == {"project", "campaign.zip"}


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("versions.json", b"[" * 10**5),
        ("versions.json", b'{"scale": 5}'),
        ("versions.json", b'{"scale": "../.."}'),
        ("versions.json", b"[]"),
        ("results/smoke/plan/experiments/tiny.json", b'{"name": "tiny", "points": [{"id": 5}]}'),
        ("results/smoke/plan/experiments/tiny.json", b'{"name": "tiny", "points": 5}'),
        ("results/smoke/plan/experiments/tiny.json", b'{"name": "../a\\nb", "points": []}'),
        ("ro-crate-metadata.json", b'{"@graph": [5]}'),
        ("manifest-sha256.txt", b"\n" * (1 << 20)),
        ("manifest-sha256.txt", b"\xff"),
    ],
)
def test_a_crafted_bundle_costs_few_lines(tmp_path: Path, place: str, content: bytes) -> None:
    bundle = tmp_path / "crafted.zip"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, text in {"manifest-sha256.txt": b"", "versions.json": b'{"scale": "smoke"}', place: content}.items():
            opened.writestr(name, text)
    problems = verify_archive(bundle).problems
    assert problems
    assert len(problems) < 12
    assert not any("\n" in problem or len(problem) > 300 for problem in problems)


@pytest.mark.parametrize(("offset", "value", "said"), [(8, 1, "encrypted"), (10, 99, "unknown compression 99")])
def test_what_cannot_be_unpacked_is_no_bundle(tmp_path: Path, offset: int, value: int, said: str) -> None:
    bundle = tmp_path / "crafted.zip"
    with zipfile.ZipFile(bundle, "w") as opened:
        opened.writestr("manifest-sha256.txt", b"")
    content = bytearray(bundle.read_bytes())
    content[content.index(b"PK\x01\x02") + offset] = value
    bundle.write_bytes(content)
    with pytest.raises(InputError, match=said):
        verify_archive(bundle)


def test_too_much_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tramontane.archive import verification

    bundle = tmp_path / "crafted.zip"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("manifest-sha256.txt", b"\n" * 1000)
    for bound, said in (("MOST_TEXT", "at most 99"), ("MOST_BYTES", "at most 99"), ("MOST_FILES", "at most 0")):
        monkeypatch.setattr(verification, bound, 0 if bound == "MOST_FILES" else 99)
        with pytest.raises(InputError, match=said):
            verify_archive(bundle)


def test_many_names_twice_take_no_longer_than_as_many_once(tmp_path: Path) -> None:
    bundle = tmp_path / "crafted.zip"
    with zipfile.ZipFile(bundle, "w") as opened, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(20_000):
            opened.writestr(f"{number // 2}.json", b"")
        opened.writestr("manifest-sha256.txt", b"")
        opened.writestr("versions.json", b'{"scale": "smoke"}')
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))  # compared pair by pair they would take minutes
from pathlib import Path
from tramontane.archive import verify_archive
print(sum(line.endswith("is there twice") for line in verify_archive(Path({str(bundle)!r})).problems))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 10_000


def test_a_link_in_a_bundle_is_a_problem(campaign: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "campaign.zip"
    write_archive(campaign, "smoke", bundle)
    link = zipfile.ZipInfo("results/smoke/elsewhere")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(bundle, "a") as opened:
        opened.writestr(link, b"/etc")
    assert "results/smoke/elsewhere is a link" in verify_archive(bundle).problems


def test_links_in_a_circle_do_not_hold_an_archive_up(campaign: Path, tmp_path: Path) -> None:
    (campaign / "results" / "smoke" / "again").symlink_to(campaign / "results" / "smoke")
    (campaign / "configs" / "itself").symlink_to("itself")
    write_archive(campaign, "smoke", tmp_path / "campaign.zip")
    assert verify_archive(tmp_path / "campaign.zip").problems == ()
    with zipfile.ZipFile(tmp_path / "campaign.zip") as opened:
        assert not [name for name in opened.namelist() if "again" in name or "itself" in name]


def forged(bundle: Path, changed: str, change: Callable[[bytes], bytes | None]) -> Path:
    """Return a copy of a bundle with a changed member, or without, and the list of checksums written anew to fit it."""
    with zipfile.ZipFile(bundle) as opened:
        files = {name: opened.read(name) for name in opened.namelist() if name != "manifest-sha256.txt"}
    content = change(files.pop(changed))
    files |= {} if content is None else {changed: content}
    lines = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    with zipfile.ZipFile(bundle.with_name("forged.zip"), "w") as opened:
        for name, content in {**files, "manifest-sha256.txt": lines.encode()}.items():
            opened.writestr(name, content)
    return bundle.with_name("forged.zip")


def test_a_changed_record_is_found_although_the_checksums_fit(campaign: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "campaign.zip"
    write_archive(campaign, "smoke", bundle)
    with zipfile.ZipFile(bundle) as opened:
        changed = next(name for name in opened.namelist() if name.startswith("results/points/"))
    found = verify_archive(forged(bundle, changed, lambda data: data.replace(b'"time_s": ', b'"time_s": 1')))
    assert found.problems == (f"{changed}: the checksum differs",)


def with_other_times(dataset: Path) -> None:
    """Double the times in a dataset, and keep the digest of what was there."""
    with xr.open_dataset(dataset, engine="h5netcdf") as opened:
        loaded = opened.load()
    loaded.assign(time_s=2 * loaded.time_s).to_netcdf(dataset, engine="h5netcdf")


def cut(dataset: Path) -> None:
    dataset.write_bytes(dataset.read_bytes()[:-300])


@pytest.mark.parametrize(
    ("damage", "said"),
    [(cut, "damaged, or no dataset (OSError)"), (with_other_times, "it has no digest or has changed since")],
)
def test_a_damaged_dataset_is_neither_archived_nor_verified(
    campaign: Path, tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    bundle, dataset = tmp_path / "campaign.zip", campaign / "results/smoke/datasets/tiny.nc"
    write_archive(campaign, "smoke", bundle)
    damage(dataset)
    content, name = dataset.read_bytes(), "results/smoke/datasets/tiny.nc"
    assert verify_archive(forged(bundle, name, lambda _: content)).problems == (f"{name}: {said}",)
    bundle.unlink()
    with pytest.raises(InputError, match=re.escape(said)):
        write_archive(campaign, "smoke", bundle)
    assert not bundle.exists()
