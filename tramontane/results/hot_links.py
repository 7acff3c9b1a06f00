"""What a result says of its links, in lines to be read."""

from typing import Any

MOST = 4
"""Links of a class that are named."""


def hottest(result: dict[str, Any], most: int = MOST) -> list[str]:
    """Return a line for each of the busiest links that a result tells one by one, the busiest class first.

    Parameters
    ----------
    result : dict
        Of a point with `statistics.links` hottest or each; there is no line for others.
    most : int, optional
        Lines of each class of links at most.
    """
    classes: dict[str, list[dict[str, Any]]] = {}
    for link in result.get("single_links", ()):
        classes.setdefault(link["class"], []).append(link)
    for links in classes.values():
        links.sort(key=lambda link: -link["load"])
    return [
        f"{link['load']:6.1%}  {link['name']}; longest queue {link['peak_queue'] / 1000:.1f} KB"
        for links in sorted(classes.values(), key=lambda links: -links[0]["load"])
        for link in links[:most]
    ]
