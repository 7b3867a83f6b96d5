# SPDX-License-Identifier: Apache-2.0
"""MPI launchers call this instead of ssh: `agent STATE_DIR [ssh options] HOST COMMAND…`, run by path inside a node."""

import os
import signal
import sys

# A launcher sets these variables for itself, and ssh would not carry them over.
_LAUNCHER_ONLY = ("PMIX_", "PRTE_", "PMI_", "HYDI_", "HYDRA_", "OMPI_COMM_")
_OPTIONS_WITH_VALUE = ("-o", "-p", "-l", "-i", "-F", "-b", "-c", "-e", "-m")


def split_arguments(arguments: list[str]) -> tuple[str, str]:
    """Reads host and command line, as ssh would take them."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in _OPTIONS_WITH_VALUE else 1]
    if len(rest) < 2:
        raise SystemExit("usage: agent [options] HOST COMMAND…")
    return rest[0].rpartition("@")[2], " ".join(rest[1:])


def main() -> int:
    # A launcher starts many of these processes at once, and they do none of its node's work.
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    # This file runs by its path, so that no package has to be found or loaded; channel.py is beside it.
    import channel  # type: ignore[import-not-found]

    state_dir = sys.argv[1]
    host, command = split_arguments(sys.argv[2:])
    env = {key: value for key, value in os.environ.items() if not key.startswith(_LAUNCHER_ONLY)}
    try:
        session = channel.Command(
            f"{state_dir}/{host}.sock",
            ["/bin/sh", "-c", command],
            env,
            os.getcwd(),
            (0, 1, 2),
            env.get("ANTIPHON_LAB_RUN", ""),
        )
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _frame: session.signal(number))
        code = session.wait()
    except channel.ChannelError as error:
        sys.stderr.write(f"agent: {host}: {error}\n")
        return 255
    return 255 if code is None else code


if __name__ == "__main__":
    sys.exit(main())
