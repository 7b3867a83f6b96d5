# SPDX-License-Identifier: Apache-2.0
"""One module per command of `antiphon`; a new file here is a new command.

A module has a docstring (its first line is the help text), `add_arguments(parser)` and `run(args) -> int`.
Heavy imports belong inside `run`, so that the command line starts quickly.
"""
