"""`python -m evals`: measure, and print what was found."""

import asyncio

from evals.performance import measure, report

if __name__ == "__main__":
    report(asyncio.run(measure()))
