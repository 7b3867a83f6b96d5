# SPDX-License-Identifier: Apache-2.0
"""`python -m antiphon` is the `antiphon` command."""

import sys

from antiphon.cli import main

if __name__ == "__main__":
    sys.exit(main())
