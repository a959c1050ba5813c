"""Checks of pictures: what they show is said in words, axes have units, and colours have a legend."""

import re
from xml.etree import ElementTree

from shared import checks

NAMESPACE = "{http://www.w3.org/2000/svg}"
UNIT = re.compile(r"^\w[\w ]* \([^()]+\)$")  # such as `time (us)`
COLOUR = re.compile(r"var\(--c\d\)")


def shapes(picture):
    """Yields the name and the element of each shape and text, and whether it is in a legend."""
    def walk(element, in_legend):
        in_legend = in_legend or element.get("class") == "legend"
        yield element.tag.split("}")[-1], element, in_legend
        for child in element:
            yield from walk(child, in_legend)
    yield from walk(picture, False)


def colours(element):
    return set(COLOUR.findall(element.get("style") or ""))


def texts_of(picture, kind):
    return ["".join(element.itertext()) for element in picture.iter(f"{NAMESPACE}text") if element.get("class") == kind]


def check_places(name, picture):
    """Checks that all texts are inside of the picture. Texts have about 6 units of width for each letter."""
    left, top, width, height = map(float, picture.get("viewBox").split())
    for element in picture.iter(f"{NAMESPACE}text"):
        text, x, y = "".join(element.itertext()), float(element.get("x")), float(element.get("y"))
        half = 0 if element.get("transform") else 3 * len(text)
        first = {"middle": x - half, "end": x - 2 * half}.get(element.get("text-anchor"), x)
        fits = left <= first + 12 and first + 2 * half <= left + width + 12 and top <= y <= top + height
        checks.expect(f"{name}: '{text}' is inside of the picture", fits, f"{x} {y} in {picture.get('viewBox')}")


def check_overlaps(name, picture):
    """Checks that no two numbers at an axis overlap."""
    ticks = [element for element in picture.iter(f"{NAMESPACE}text") if element.get("class") == "tick"]
    rows = {}
    for element in ticks:
        text = "".join(element.itertext())
        x, wide = float(element.get("x")), 6 * len(text)
        first = {"middle": x - wide / 2, "end": x - wide}.get(element.get("text-anchor"), x)
        rows.setdefault(element.get("y"), []).append((first, first + wide, text))
    for row in rows.values():
        row.sort()
        for (_, end, one), (begin, _, other) in zip(row, row[1:]):
            checks.expect(f"{name}: the numbers {one} and {other} do not overlap", end <= begin)


def check(name, text, axes, has_legend=True):
    """Checks a picture that has this number of axes. `has_legend`: the picture has the legend, not the text around it."""
    picture = ElementTree.fromstring(text if "xmlns=" in text[:200] else text.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1))
    checks.expect(f"{name}: a text says what the picture shows",
                  picture.get("role") == "img" and len(picture.get("aria-label") or "") > 5, text[:300])
    checks.expect(f"{name}: the picture has a size", picture.get("viewBox"), text[:300])
    if not picture.get("viewBox"):
        return picture
    titles = texts_of(picture, "axis")
    checks.expect(f"{name}: it has {axes} axes", len(titles) == axes, str(titles))
    for title in titles:
        checks.expect(f"{name}: the axis '{title}' has a unit", UNIT.match(title), title)
    checks.expect(f"{name}: numbers belong to an axis", axes > 0 or not texts_of(picture, "tick"))
    used, explained = set(), set()
    for kind, element, in_legend in shapes(picture):
        (explained if in_legend else used).update(colours(element))
        fixed = [key for key in ("fill", "stroke") if re.match(r"#|rgb|black|white", element.get(key) or "")]
        checks.expect(f"{name}: no {kind} has a colour that stays the same on a dark screen", not fixed, str(element.attrib))
    if has_legend:
        checks.expect(f"{name}: the legend explains all colours", used <= explained, f"{sorted(used)} {sorted(explained)}")
    check_places(name, picture)
    check_overlaps(name, picture)
    return picture
