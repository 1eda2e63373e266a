# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m tools.demo`, which is what `make demo` does. LAB=real in the environment chooses real kubelets."""

from __future__ import annotations

import os
import sys

from tools.demo.steps import FAILURE, show

LABS = ("simulated", "real")


def main() -> int:
    """Run the demo; return the exit status, 2 for a lab that does not exist."""
    lab = os.environ.get("LAB") or LABS[0]
    # A simulated demo runs where the lab cannot, so it loads nothing of it.
    if lab == "real":
        from tools.demo.real import run as demo
    elif lab == "simulated":
        from tools.demo.simulated import run as demo
    else:
        show(f"demo: LAB={lab} is none of {', '.join(LABS)}", FAILURE)
        return 2
    return demo.main()


if __name__ == "__main__":
    sys.exit(main())
