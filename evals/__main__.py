"""`python -m souffleur.evals`: the same as `souffleur eval speed`."""

from souffleur.evals.command import start
from souffleur.evals.performance import app

if __name__ == "__main__":
    start(app)
