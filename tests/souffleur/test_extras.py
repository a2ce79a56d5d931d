"""What needs an extra says so where it is missing, and costs nothing where it is not used."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("package", "name"),
    [("mcp", "make_server"), ("langchain", "SouffleurMiddleware"), ("langchain", "recall_tool")],
)
def test_a_missing_extra_is_named(package: str, name: str) -> None:
    """Importing the package costs nothing; the name says what to install."""
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"import souffleur.integrations.{package} as ours\n"
        "assert 'langgraph' not in sys.modules\n"
        f"try: ours.{name}\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        f"SettingsError {name} needs the package {package}: "
        f"run `pip install '.[{package}]'` in a clone of Souffleur\n"
    )


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A typo is told as for any module."""
    import souffleur.integrations.langchain
    import souffleur.integrations.mcp

    for module in (souffleur.integrations.langchain, souffleur.integrations.mcp):
        with pytest.raises(AttributeError, match="has no attribute 'Prompter'"):
            _ = module.Prompter
