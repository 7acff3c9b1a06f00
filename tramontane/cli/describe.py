"""``tramontane describe``."""

from tramontane.cli.options import Name, Scale
from tramontane.cli.reading import only_reads

_WIDTH = 100


@only_reads
def describe(name: Name, scale: Scale = "laptop") -> None:
    """Describe an experiment: its question, points and cost.

    It says what is varied, too.
    """
    import textwrap

    from tramontane.campaign.overview import describe
    from tramontane.study import find_root
    from tramontane.support.formatting import about_bytes, about_seconds, plural, roughly

    found = describe(find_root(), name, scale)
    experiment, planned = found.experiment, found.planned
    print(f"{experiment.name}: {experiment.title}")
    print(textwrap.fill(experiment.question, _WIDTH))
    print()
    print(textwrap.fill(experiment.description, _WIDTH))
    print()
    if experiment.paper:
        parts = experiment.paper.model_dump(exclude_none=True)
        print("paper:     ", ", ".join(f"{key} {value}" for key, value in parts.items()))
    print("scales:    ", ", ".join(experiment.scales))
    for dim in planned.manifest["dims"]:
        print(f"{dim['name'] + ':':<11}", ", ".join(str(value) for value in dim["values"]))
    print("machines:  ", ", ".join(planned.manifest["machines"]))
    notes = [f"{len(planned.points) - len(planned.missing)} done"]
    notes += [f"{found.failed} failed"] if found.failed else []
    notes += [f"{plural(found.excluded, 'combination')} excluded"] if found.excluded else []
    print(f"points:     {len(planned.points)} at scale {scale} ({', '.join(notes)})")
    if found.jobs:
        print(
            f"cost:       {roughly(sum(job.seconds for job in found.jobs))} of processor time in all, "
            f"{about_seconds(max(job.seconds for job in found.jobs))} for the longest point, "
            f"up to {about_bytes(max(job.memory for job in found.jobs))} of memory"
        )
    texts = [("program of a rank", *told) for told in found.programs()]
    texts += [("jobs side by side", *told) for told in found.side_by_side()]
    for heading, number, text in texts:
        print()
        print(f"{heading}, at {plural(number, 'point')}:")
        print("\n".join(f"  {line}" for line in text))
    for number, counted in found.traces():
        print(f"trace, at {plural(number, 'point')}: {counted}")
