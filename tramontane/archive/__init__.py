"""A campaign as one file for a data repository, which another machine can verify and draw from without simulating."""

from tramontane.archive.bundle import write_archive
from tramontane.archive.verification import Finding, verify_archive

__all__ = ["Finding", "verify_archive", "write_archive"]
