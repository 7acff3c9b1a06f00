"""ReFrame's settings for every system of configs/systems:  reframe -C reframe-checks/config.py -c reframe-checks ..."""

import atexit
import functools
import sys
from collections.abc import Callable
from typing import Any

from reframe.core.backends import register_launcher
from reframe.core.launchers import JobLauncher
from reframe.core.schedulers import Job
from reframe.frontend.executors import Runner

from tramontane.errors import InputError
from tramontane.measurement.cases import project
from tramontane.measurement.reframe_report import SESSION, refuse_empty_run
from tramontane.measurement.settings import LAUNCHER, MPIRUN, look_around, settings


@register_launcher(LAUNCHER)
class EnvironmentLauncher(JobLauncher):
    """Starts ranks with the mpirun of the MPI library a program was built with; another's would start singletons."""

    def command(self, job: Job) -> list[str]:
        """Return the command: a shell reads what the environment says, since there may be quotes in it."""
        return ["sh", "-c", f'"exec ${MPIRUN} \\"\\$@\\""', "mpirun", str(job.num_tasks)]


def noted(runall: Callable[..., None]) -> Callable[..., None]:
    """Return ReFrame's function that runs cases, which then notes that it was called; options have many spellings."""

    @functools.wraps(runall)
    def wrapped(self: Runner, *arguments: Any, **keys: Any) -> None:
        SESSION.runs = not self.policy.dry_run_mode
        runall(self, *arguments, **keys)

    return wrapped


try:
    ROOT = project()
    site = look_around(ROOT)
    site_configuration = settings(ROOT, site)
except InputError as mistake:
    sys.exit(str(mistake))
for line in site.absent:
    print(f"left out: {line}", file=sys.stderr)
# ReFrame calls a run without a single case a success; here it is a failure.
Runner.runall = noted(Runner.runall)
atexit.register(refuse_empty_run)
