"""Media embedded in a text are named, and the words around them stay."""

import base64
import random
import textwrap

import pytest

from souffleur.knowledge.text.media import name_media

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + random.Random(7).randbytes(900)).decode()
WRAPPED = textwrap.fill(PNG, 76)
WORDS = ("My sister is called Mia.", "我妹妹叫米娅。", "妹の名前はミアです。")
URL = f"data:image/png;base64,{PNG}"


@pytest.mark.parametrize(
    ("embedded", "named"),
    [
        (URL, "[image]"),
        (f"![cat]({URL})", "![cat]([image])"),
        (f'<img alt="cat" src="{URL}">', '<img alt="cat" src="[image]">'),
        (f"<img src='{URL}'/>", "<img src='[image]'/>"),
        (URL.replace("data:image/png", "DATA:Image/PNG"), "[image]"),
        (URL.replace(";base64", ";name=cat.png;base64"), "[image]"),
        (URL.replace("image/", r"image\/"), "[image]"),
        (URL.replace("+", "%2B"), "[image]"),
        (URL.translate(str.maketrans("+/", "-_")).replace("image_", "image/"), "[image]"),
        (f"data:image/png;base64,{WRAPPED}\n", "[image]\n"),
        (f"data:application/pdf;base64,{PNG}", "[file]"),
        (f"data:audio/mpeg;base64,{PNG}", "[audio]"),
        (f"data:video/mp4;base64,{PNG}", "[video]"),
        ("data:image/svg+xml,%3Csvg%20xmlns=%22x%22/%3E", "[image]"),
        ("data:image/svg+xml;utf8,<svg a='b'><path d='M 1'/></svg>", "[image]"),
        ("<svg viewBox='0 0 1 1'>\n<path d='M 1'/>\n</svg>", "[image]"),
        ("url(data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP)", "url([image])"),
        (f"base64,{PNG}", "[image]"),
        (PNG, "[image]"),
        (WRAPPED, "[image]"),
        (base64.b64encode(random.Random(7).randbytes(900)).decode(), "[file]"),
    ],
)
@pytest.mark.parametrize("words", WORDS)
def test_media_are_named(embedded: str, named: str, words: str) -> None:
    """Each becomes its kind in brackets, once, and not a word beside it is lost."""
    text = f"{words} {embedded} {words}"
    assert name_media(text) == f"{words} {named} {words}"
    assert name_media(name_media(text)) == name_media(text)


@pytest.mark.parametrize(
    "text",
    [
        "my data: image, 3 MB; metadata:image/png,x",
        "https://example.org/data/image/png;base64?x=1",
        "the word " + "Donaudampfschifffahrt" * 40,
        "7" * 2_000,
        "sk-proj-9f8e7d6c5b4a3210ABCDEFGH" * 4,
        "<svg without an end",
        "",
    ],
)
def test_what_embeds_nothing_stays(text: str) -> None:
    """Talk about data, long words, numbers and keys are no media."""
    assert name_media(text) == text
