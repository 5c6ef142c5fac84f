"""``python -m supercloud``."""

from .cli import main

main()
