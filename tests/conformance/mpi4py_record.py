# SPDX-License-Identifier: Apache-2.0
"""Runs mpi4py's tests in one rank and writes each test's outcome, as it happens, to a file of this rank.

Usage: mpi4py_record.py TEST_DIRECTORY RECORD_DIRECTORY [arguments of mpi4py's test/main.py]
"""

import json
import os
import sys
import unittest
from pathlib import Path


def rank() -> str:
    """Returns this rank's number, before MPI is initialised."""
    return os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMI_RANK") or "0"


class Record(unittest.TestResult):
    """Writes one line per event: "start" comes first, so that the test in which a program hung or died is known."""

    def __init__(self, file) -> None:
        super().__init__()
        self.file = file

    def write(self, test, event: str, detail: str = "") -> None:
        # A subtest belongs to its test; a failing setUpClass has a name of its own.
        owner = getattr(test, "test_case", test)
        self.file.write(json.dumps([owner.id(), event, detail[-2000:]]) + "\n")
        self.file.flush()

    def startTest(self, test) -> None:
        super().startTest(test)
        self.write(test, "start")

    def stopTest(self, test) -> None:
        super().stopTest(test)
        self.write(test, "stop")

    def addSkip(self, test, reason) -> None:
        super().addSkip(test, reason)
        self.write(test, "skip")

    def addFailure(self, test, err) -> None:
        super().addFailure(test, err)
        self.write(test, "fail", self.failures[-1][1])

    def addError(self, test, err) -> None:
        super().addError(test, err)
        self.write(test, "error", self.errors[-1][1])

    def addSubTest(self, test, subtest, err) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.write(subtest, "fail", self._exc_info_to_string(err, test))

    def addUnexpectedSuccess(self, test) -> None:
        super().addUnexpectedSuccess(test)
        self.write(test, "fail", "unexpected success")


class Runner:
    """Takes the place of the runner that unittest's main program calls."""

    def __init__(self, file) -> None:
        self.file = file

    def run(self, tests):
        result = Record(self.file)
        tests(result)
        result.write(unittest.FunctionTestCase(lambda: None), "end")
        return result


def run() -> None:
    tests, records, *arguments = sys.argv[1:]
    sys.path.insert(0, tests)
    sys.dont_write_bytecode = True
    import main  # This is mpi4py's own module.

    with open(Path(records, f"rank-{rank()}.jsonl"), "a", encoding="utf-8") as file:
        main.TestProgram(module=None, argv=[str(Path(tests, "main.py")), *arguments], testRunner=Runner(file))


if __name__ == "__main__":
    run()
