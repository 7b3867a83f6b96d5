# SPDX-License-Identifier: Apache-2.0
"""Errors that are reported to the user as `error:` and `hint:` lines, never as a stack trace."""

from __future__ import annotations

#: The thing that was run or looked for failed.
EXIT_FAILURE = 1
#: Wrong usage, or something is missing in the environment.
EXIT_USAGE = 2
#: Interrupted by Ctrl-C, as a shell reports it (128 + SIGINT).
EXIT_INTERRUPTED = 130
#: The reader of our output went away, as a shell reports it (128 + SIGPIPE).
EXIT_BROKEN_PIPE = 141


class AntiphonError(Exception):
    """Says what is wrong and where (`message`), and what to do next (`hint`)."""

    def __init__(self, message: str, hint: str | None = None, exit_code: int = EXIT_USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code
