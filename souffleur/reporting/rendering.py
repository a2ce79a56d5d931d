"""Pages from templates, in which whatever people wrote stays text."""

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def render(package: str, template: str, **data: object) -> str:
    """Return a page from a template of `package`, which may use the templates of this one."""
    return _environment(package).get_template(template).render(data)


@cache
def _environment(package: str) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("souffleur.reporting")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["grouped"] = "{:,}".format
    return environment
