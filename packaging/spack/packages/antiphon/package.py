# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Antiphon(PythonPackage):
    """Antiphon is preloaded between an unmodified MPI program and its MPI library, and makes its collectives
    faster on Ethernet. It serves Open MPI, MPICH and what has its ABI, and the MPI-5 ABI: none is a dependency."""

    homepage = "https://antiphon.invalid"
    url = "@source_url@"

    license("Apache-2.0 AND MIT", checked_by="antiphon")

    version("@version@", sha256="@sha256@")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-scikit-build-core@0.10:", type="build")
    # Headers of MPI come with the source; pip is what would fetch them otherwise.
    depends_on("py-pip", type="build")

    with default_args(type=("build", "run")):
        depends_on("python@3.10:")
        depends_on("py-jinja2@3:")
        depends_on("py-jsonschema@4:")
        depends_on("py-numpy@1.23:")
        depends_on("py-pyelftools@0.29:")
        depends_on("py-rich@13.3:")
        depends_on("py-tomli@2:", when="^python@:3.10")

    conflicts("%gcc@:10", msg="the core is C++20")
    conflicts("platform=darwin", msg="Antiphon is for Linux")
    conflicts("platform=windows", msg="Antiphon is for Linux")

    import_modules = ["antiphon"]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_command(self):
        """Lets the command say what was built, and ask the core for a schedule."""
        command = Executable(self.prefix.bin.antiphon)
        command("--version")
        command("explain", "bcast", "--ranks", "4", "--bytes", "64k")
