"""``python -m elliptope`` is the command ``elliptope``."""

from .cli import run

run()
