"""`python -m souffleur.cli`."""

from souffleur.cli import main

main()
