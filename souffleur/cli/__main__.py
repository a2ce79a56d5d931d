"""`python -m souffleur.cli`: the same as `souffleur`."""

from souffleur.cli import main

main()
