import os
from pathlib import Path

from spack.package import *

try:  # Spack >= 1.0 keeps the build systems in the builtin repository
    from spack_repo.builtin.build_systems.generic import Package
except ImportError:  # Spack 0.23: spack.package exports it
    pass


class Tramontane(Package):
    """The embedded simulator and the package that drives it, in a virtual environment of its own.

    Python's packages are those of requirements.lock, hash by hash, as everywhere else: Spack's own would be other
    versions, and some are not in its repository. Spack gives what is compiled for the system: Python and the compiler.
    """

    homepage = "https://doi.org/10.5194/gmd-11-3409-2018"  # the study that is repeated
    git = Path(__file__).resolve().parents[4].as_uri()  # the checkout that this recipe is part of

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("python@3.11:", type=("build", "run"))

    variant("cuda", default=False, description="Driver of NVIDIA's GPUs (docs/gpu.md)")
    variant("rocm", default=False, description="Driver of AMD's GPUs; never run")
    depends_on("cuda@12.4:", type=("build", "run"), when="+cuda")
    depends_on("hip@5:", type=("build", "run"), when="+rocm")
    conflicts("+rocm", when="+cuda", msg="one driver of GPUs")

    conflicts("%gcc@:10", msg="C++20 is needed")

    def install(self, spec, prefix):
        place = prefix.libexec.tramontane
        spec["python"].command("-m", "venv", place)
        pip = Executable(os.path.join(place, "bin", "python"))
        pip.add_default_arg("-m", "pip", "--disable-pip-version-check")
        pip("install", "--require-hashes", "--no-deps", "-r", "requirements.lock")
        build = os.path.join(self.stage.path, "build")
        # cmake and ninja come with the packages of the lock.
        with set_env(PATH=os.pathsep.join([os.path.join(place, "bin"), os.environ["PATH"]])):
            # Of a checkout under development Python's sources stay where they are; what is compiled is installed.
            source = ("-e", ".") if "dev_path" in spec.variants else (".",)
            gpu = [
                "--config-settings=cmake.define." + option + "=ON"
                for variant, option in (("cuda", "TRAMONTANE_CUDA"), ("rocm", "TRAMONTANE_HIP"))
                if spec.satisfies("+" + variant)
            ]
            pip("install", "--no-build-isolation", "--no-deps", "--config-settings=build-dir=" + build, *gpu, *source)
        mkdirp(prefix.bin)
        symlink(os.path.join(place, "bin", "tramontane"), prefix.bin.tramontane)
