"""What commands that only read have in common."""

import functools
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")


def only_reads(command: Callable[P, None]) -> Callable[P, None]:
    """Let a command leave nothing behind where there is no project, and run where nothing can be written."""

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        from tramontane.study.patterns.patterns import kept_apart_if_need_be

        with kept_apart_if_need_be():
            command(*arguments, **options)

    return run
