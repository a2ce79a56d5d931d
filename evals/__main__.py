"""`python -m souffleur.evals`: measure, and print what was found."""

import asyncio

from souffleur.evals.performance import measure, report

if __name__ == "__main__":
    report(asyncio.run(measure()))
