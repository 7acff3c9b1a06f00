from pathlib import Path

from spack.package import *

try:  # Spack >= 1.0 keeps the build systems in the builtin repository
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # Spack 0.23: spack.package exports it
    pass


class TramontaneSkeleton(CMakePackage):
    """Communication skeleton of weather and climate models, tramontane-mpi, for a machine's MPI."""

    homepage = "https://doi.org/10.5194/gmd-11-3409-2018"  # the study that is repeated
    git = Path(__file__).resolve().parents[4].as_uri()  # the checkout that this recipe is part of

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("mpi")

    conflicts("%gcc@:10", msg="C++20 is needed")

    build_targets = ["tramontane-mpi"]

    def cmake_args(self):
        return [
            self.define("TRAMONTANE_MPI", True),
            self.define("TRAMONTANE_TESTS", False),
            self.define("MPI_CXX_COMPILER", self.spec["mpi"].mpicxx),
        ]

    def install(self, spec, prefix):
        # Not the target install, which would compile the simulator as well. The folder of a build under development may
        # have been configured for another tree of packages, and Spack does not configure it again.
        cmake("--install", self.build_directory, "--prefix", prefix)
