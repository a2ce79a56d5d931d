"""`python -m souffleur`: the same as `souffleur`."""

from souffleur.cli import main

main()
