"""Making an SVG file part of a web page.

Matplotlib gives every figure its own file, with identifiers that are unique in that file only: two figures of one page
would clip each other's lines. Here identifiers get the figure's name as a prefix, and what concerns a file
only is dropped.
"""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

from tramontane.errors import InputError

#: Size of figures on the page: 8 pt text of the print becomes 16 px.
PIXELS_PER_POINT = 2.0
#: Width in pixels below which a wide figure does not shrink: on a phone it is moved, not deciphered.
WIDE = 700
_SVG = "http://www.w3.org/2000/svg"
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_URL = re.compile(r"url\(#([^)]+)\)")


def inline_file(file: Path, prefix: str, title: str) -> str:
    """Turn an SVG file into an element of a page; see `inline`.

    Raises
    ------
    InputError
        If it is not an SVG file.
    """
    try:
        return inline(file.read_text(encoding="utf-8"), prefix, title)
    except ValueError as error:
        allowed = "a figure as it was drawn; without the file, it is drawn anew"
        raise InputError(file, "", None, allowed, problem=str(error)) from None


def inline(text: str, prefix: str, title: str) -> str:
    """Turn the text of an SVG file into an element of a page.

    Parameters
    ----------
    text
        Contents of the file.
    prefix
        Unique in the page; put before each identifier.
    title
        What a screen reader says.

    Returns
    -------
    str
        An ``<svg>`` element without XML header, metadata, style sheet and fixed size.

    Raises
    ------
    ValueError
        If the text is not an SVG file.
    """
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise ValueError(f"not an SVG file: {error}") from error
    if root.tag != f"{{{_SVG}}}svg":
        raise ValueError(f"not an SVG file: found element '{root.tag}'")
    # The file's style sheet holds for everything ("*"), so in a page it would reach other figures and the text.
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        _rename(element, prefix)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    label = f"{prefix}-title"
    # All figures of a page at the same scale, hence with text of the same size, and never wider than the page.
    width = float(root.get("viewBox", "0 0 236 170").split()[2]) * PIXELS_PER_POINT
    look = f"stroke-linejoin: round; stroke-linecap: butt; max-width: {width:.0f}px"
    if width > WIDE:
        look += f"; min-width: {WIDE}px"
    root.attrib |= {"role": "img", "aria-labelledby": label, "style": look}
    heading = ET.Element(f"{{{_SVG}}}title", {"id": label})
    heading.text = title
    root.insert(0, heading)
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode")


def _rename(element: ET.Element, prefix: str) -> None:
    for key, value in list(element.attrib.items()):
        if key == "id":
            element.set("id", f"{prefix}-{value}")
        elif key in ("href", _XLINK_HREF):
            del element.attrib[key]
            if value.startswith("data:image/png;"):  # matrices are pictures inside the drawing
                element.set("href", value)
            elif value.startswith("#"):
                element.set("href", f"#{prefix}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, _URL.sub(rf"url(#{prefix}-\1)", value))
