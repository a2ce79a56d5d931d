"""Writes souffleur/client/methods.py: `make methods`, after a public method has changed."""

import ast
from dataclasses import replace

from tests.blocking_methods import (
    ROOT,
    SOURCES,
    Class,
    Method,
    defaults,
    given,
    import_lines,
    method_types,
    names_in,
    signature,
    unquoted,
)

TARGET = ROOT / "souffleur" / "client" / "methods.py"
LEFT_OUT = frozenset({"open", "open_blocking", "restore", "start", "close", "has_model", "error"})
"""Methods that open or keep a store, and what only its own process knows at once."""
HEAD = '''"""Methods of the clients, those of Souffleur, written by `make methods`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

'''
CALLERS = """
class _Calls(Protocol):
    def _call(self, method: str, /, **given: Any) -> Any: ...


class _Awaits(Protocol):
    async def _call(self, method: str, /, **given: Any) -> Any: ...

"""


def generate() -> str:
    """Return the text of the module, before it is formatted."""
    found = Class(replace(SOURCES[0], left_out=LEFT_OUT))
    homes, methods = found.homes(), list(found.methods())
    used = {(homes[name], name) for method in methods for name in names_in(defaults(method))}
    typed = {(homes[name], name) for method in methods for name in method_types(method)}
    checked = "".join(f"    {line}\n" for line in import_lines(typed - used))
    parts = [HEAD + "\n".join(import_lines(used)), f"if TYPE_CHECKING:\n{checked}", CALLERS]
    for name, base, wait in (("Methods", "_Calls", False), ("AsyncMethods", "_Awaits", True)):
        told = f'"""The public methods of Souffleur, over HTTP{", awaited" if wait else ""}."""'
        written = "\n\n".join(write(method, found.text, wait=wait) for method in methods)
        parts.append(f"class {name}({base}):\n    {told}\n\n{written}\n")
    return "\n".join(parts)


def write(method: Method, text: str, *, wait: bool) -> str:
    """Return a method that sends its arguments; `text` is that of the file of Souffleur."""
    assert method.returns
    result = ast.unparse(unquoted(method.returns))
    plain = (one if "=" in one else f"{one}={one}" for one in given(method.args))
    sent = ", ".join([repr(method.name), *plain])
    return "\n".join(
        [
            f"    {'async ' * wait}def {method.name}({signature(method.args)}) -> {result}:",
            f"        {ast.get_source_segment(text, method.body[0])}",
            f"        found: {result} = {'await ' * wait}self._call({sent})",
            "        return found",
        ]
    )


if __name__ == "__main__":
    TARGET.write_text(generate(), encoding="utf-8")
