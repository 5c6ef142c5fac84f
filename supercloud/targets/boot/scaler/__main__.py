"""Start of ``python3 <folder>/scaler``: makes the folder a package, so that its modules find each other."""

from __future__ import annotations

import importlib
import os
import sys

if __name__ == "__main__":
    _here = os.path.dirname(os.path.realpath(__file__))
    sys.dont_write_bytecode = True  # root installs this folder, and the program runs as another user
    sys.path[0] = os.path.dirname(_here)
    sys.exit(importlib.import_module(os.path.basename(_here) + ".program").main(sys.argv[1:]))
