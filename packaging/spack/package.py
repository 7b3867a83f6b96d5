# SPDX-License-Identifier: Apache-2.0
"""Spack's recipe: copy it to var/spack/repos/REPOSITORY/packages/antiphon/package.py, or a repository of your own."""

from spack.package import *


class Antiphon(PythonPackage):
    """Makes an unmodified MPI program faster on the network it really runs on: collectives in an order that Ethernet
    carries without losses, preloaded under Open MPI, MPICH and libraries with their ABIs."""

    pypi = "antiphon/antiphon-0.1.0.tar.gz"

    license("Apache-2.0", checked_by="antiphon")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-pip", type="build")
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-jinja2@3:", type=("build", "run"))
    depends_on("py-jsonschema@4:", type=("build", "run"))
    depends_on("py-numpy@1.23:", type=("build", "run"))
    depends_on("py-pyelftools@0.29:", type=("build", "run"))
    depends_on("py-rich@13.3:", type=("build", "run"))

    # No MPI: the source package brings headers, and a run takes the program's own library.

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.antiphon)("--version")
