"""``python -m elliptope`` is the command ``elliptope``."""

from .cli import run

if __name__ == "__main__":
    run()
