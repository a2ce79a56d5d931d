"""Rendering: what a template may take for granted."""

import pytest
from jinja2 import TemplateNotFound, UndefinedError

from souffleur.report.page import render


def test_what_a_template_lacks_is_an_error() -> None:
    """A name that was not given, and a file that is not there, are never shown as nothing."""
    with pytest.raises(UndefinedError, match="title"):
        render("souffleur.report", "layout.html", style="report.css")
    with pytest.raises(TemplateNotFound):
        render("souffleur.report", "evals.html")


def test_markup_is_escaped_in_every_template() -> None:
    """Whatever the file is called, and between quotes as well."""
    page = render("souffleur.report", "layout.html", title="""<b> & "'""", style="report.css")
    assert page.count("&lt;b&gt; &amp; &#34;&#39;") == 2
