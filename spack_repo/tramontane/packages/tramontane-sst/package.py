from spack.package import *

try:  # Spack >= 1.0 keeps the build systems in the builtin repository
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:  # Spack 0.23: spack.package exports it
    pass


class TramontaneSst(MakefilePackage):
    """The skeleton as an application of SST/macro, and a plug-in with topologies, routers and statistics."""

    homepage = "https://github.com/tramontane-hpc/tramontane"
    git = "https://github.com/tramontane-hpc/tramontane.git"

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("cxx", type="build")
    depends_on("gmake", type="build")
    # What can be compiled is any release since 15; only 16.0 is compared with measured points.
    depends_on("sst-macro@15:", type=("build", "link", "run"))

    build_directory = "sstmacro"

    def build(self, spec, prefix):
        with working_dir(self.build_directory):
            make("SSTXX={0}".format(spec["sst-macro"].prefix.bin.join("sst++")))

    def install(self, spec, prefix):
        with working_dir(self.build_directory):
            make("install", "PREFIX={0}".format(prefix))
