"""Contents: the text of a message, from the forms in which chat interfaces give it."""

import re
from collections.abc import Mapping
from typing import Any

from souffleur.errors import MessageError
from souffleur.knowledge.language.media import name_media

Content = Any
"""A text, a list of content parts, a message that has either as its `content`, or `None`."""

_MEDIA = {
    "image_url": "image",
    "input_image": "image",
    "image_file": "image",
    "input_audio": "audio",
    "audio_url": "audio",
    "video_url": "video",
    "input_file": "file",
    "document": "file",
}
"""Names of parts that are not text, where they differ from the type."""
_UNSAID = re.compile(r".*(tool|function)_.*|.*_call(_output)?|.*(thinking|reasoning|thoughts?).*")
"""Types of parts that nobody says: calls of tools, their results, a model's thoughts."""
_MAPPINGS = (dict, Mapping)
"""What has its fields as items; to ask for the first is several times as fast."""
_TYPE = re.compile(r"[\w.-]{1,40}")


def read_content(content: Content) -> str:
    r"""Return the text of a content; a part that is no text becomes a word such as `[image]`.

    So does what is in a text as data, such as the data URL of an image. Calls of tools and a
    model's thoughts are left out. Raises MessageError for anything else.

    >>> read_content([{"type": "text", "text": "Look!"}, {"type": "image_url", "image_url": {}}])
    'Look!\n[image]'
    >>> read_content([{"type": "thinking", "thinking": "…"}, "Nice!"]), read_content(None)
    ('Nice!', '')
    """
    if content is None or isinstance(content, str):
        return name_media(content or "")
    if isinstance(content, list | tuple):
        return "\n".join(filter(None, map(_read_part, content)))
    held = content_of(content)
    if held is None:
        return "" if look_up(content, "role") else _read_part(content)  # it only calls tools
    if isinstance(held, str | list | tuple):
        return read_content(held)
    raise MessageError(_wrong(held))


def readable_content(content: Content) -> str:
    """Return the text of a content; nothing if it cannot be read.

    >>> readable_content("hi"), readable_content(7)
    ('hi', '')
    """
    try:
        return read_content(content)
    except MessageError:
        return ""


def content_of(message: object) -> Any:
    """Return the content of a message, or its refusal; `None` if it has neither."""
    content = look_up(message, "content")
    return look_up(message, "refusal") if content is None else content


def is_unsaid(type_: object) -> bool:
    """Return whether a part or message of this type is nothing that anybody says.

    >>> is_unsaid("function_call"), is_unsaid("web_search_call"), is_unsaid("text")
    (True, True, False)
    """
    return isinstance(type_, str) and _UNSAID.fullmatch(type_) is not None


def look_up(thing: object, name: str) -> Any:
    """Return the field of a mapping or object; `None` if it has none of that name."""
    return thing.get(name) if isinstance(thing, _MAPPINGS) else getattr(thing, name, None)


def _read_part(part: object) -> str:
    if isinstance(part, str):
        return name_media(part)
    type_ = look_up(part, "type")
    if is_unsaid(type_):
        return ""
    text = look_up(part, "refusal" if type_ == "refusal" else "text")
    text = look_up(text, "value") if isinstance(text, Mapping) else text
    if isinstance(text, str):
        return name_media(text)
    if isinstance(type_, str) and _TYPE.fullmatch(type_):
        return "" if type_ == "text" else f"[{_MEDIA.get(type_, type_)}]"
    raise MessageError(_wrong(part))


def _wrong(value: object) -> str:
    what = type(value).__name__
    return f"{what} is no text: give a string, or content parts [{{'type': 'text', 'text': …}}, …]"
