#!/usr/bin/env python3
"""Writes the pages of the language, the library, the diagnostics, the guide and the gallery as a static site: make.py FOLDER

The site needs no network and no server. `kernelc` must be in PATH: it prints the table of diagnostics, writes the pages of the
library, and runs the kernels of the gallery. Python's markdown (Debian: python3-markdown) renders the pages."""

import argparse
import html
import json
import pathlib
import re
import subprocess
import sys

import markdown

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ["coming_from", "calling", "python", "devices", "testing", "debugging", "performance", "suites", "editors", "c_source",
         "packaging", "dependencies", "CHANGELOG"]
WORDS = ("import const export kernel program fn let var if then else for while spmd sync break continue return atomic as in out "
         "inout auto inf nan true false range stage domain pipe device test by step over view reduce expect where requires ensures "
         "fuse types is").split()
TOKEN = re.compile(r"(?P<c>//[^\n]*|/\*.*?\*/)|(?P<s>\"[^\"\n]*\")|(?P<n>\b\d[\w.]*)|(?P<k>\b(?:" + "|".join(WORDS) + r")\b)", re.DOTALL)
HEADING = re.compile(r"<h([1-4])>(.*?)</h\1>", re.DOTALL)
CELL = re.compile(r"<td>.*?</td>", re.DOTALL)
INLINE = re.compile(r"(?<!<pre>)<code>[^<]*</code>")
OPTION = re.compile(r"(?<![\w-])--?\w[\w-]*")  # an option of a command, which must not break after its hyphens
CODE = re.compile(r"<pre><code class=\"language-kdl\">(.*?)</code></pre>", re.DOTALL)


def output_of(*words):
    return subprocess.run(["kernelc", *words], check=True, capture_output=True, text=True, timeout=300).stdout


def anchor_of(title):
    """Returns the anchor of a title, as GitHub makes it."""
    plain = html.unescape(re.sub(r"<[^>]+>", "", title)).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def highlighted(code):
    """Marks the comments, strings, numbers and keywords of KDL in text that is already escaped."""
    return TOKEN.sub(lambda found: f'<span class="{found.lastgroup}">{found.group()}</span>', code)


def without_tags(text):
    """Lets plain text such as k<D = 64>(…) keep its angle brackets, which would be tags of HTML. Code between backticks stays."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if number % 2 else html.escape(part, quote=False) for number, part in enumerate(parts))


def breakable(title):
    """Lets a long name break after its dots and underscores, on narrow screens."""
    return title if " " in title else re.sub(r"([._])(?=\w)", r"\1<wbr>", title)


def rendered(text):
    page = markdown.markdown(text, extensions=["fenced_code", "tables", "sane_lists"])
    page = CELL.sub(lambda found: found.group().replace("\\|", "|"), page)  # Markdown keeps the backslashes in code
    page = INLINE.sub(lambda found: OPTION.sub(r'<span class="o">\g<0></span>', found.group()), page)
    page = CODE.sub(lambda found: f"<pre><code>{highlighted(found.group(1).replace('&quot;', chr(34)))}</code></pre>", page)
    page = HEADING.sub(lambda found: f'<h{found.group(1)} id="{anchor_of(found.group(2))}">{breakable(found.group(2))}</h{found.group(1)}>', page)
    return page.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")


class Site:
    """The pages of the site: (file, title, group in the contents, HTML), and where pages of the source tree have gone."""

    def __init__(self):
        self.pages = []
        self.template = ""  # the frame of a page, with @TITLE@, @CONTENTS@ and @PAGE@
        self.anchors = {}  # (source file, anchor) -> file of the site; the anchor is empty for the start of a page

    def add(self, file, title, group, page, source=None):
        self.pages.append((file, title, group, page))
        if source is not None:
            self.anchors.setdefault((source, ""), file)
            for anchor in re.findall(r'<h\d id="([^"]+)"', page):
                self.anchors[(source, anchor)] = file

    def linked(self, page, source):
        """Lets links between pages of the source tree lead to pages of the site. Links to pages of the site stay, and those to other
        files become their names."""
        files = {file for file, *_ in self.pages}

        def target(found):
            address, text = html.unescape(found.group(1)), found.group(2)
            if re.match(r"[a-z]+:", address) or address in files:
                return found.group(0)
            path, _, anchor = address.partition("#")
            path = (source.parent / path).resolve() if path else source
            path = path / "README.md" if path.is_dir() else path
            file = self.anchors.get((path, anchor)) or self.anchors.get((path, ""))
            return f'<a href="{file}{"#" + anchor if anchor else ""}">{text}</a>' if file else text
        return re.sub(r'<a href="([^"]*)">(.*?)</a>', target, page, flags=re.DOTALL) if source else page


def add_language(site):
    """Makes a page of the tutorial, and one of each section of the reference."""
    source = ROOT / "grammar/LANGUAGE.md"
    parts = re.split(r"^(?=# |## )", outside_code(source.read_text()), flags=re.MULTILINE)
    intro = re.sub(r"^- \[Ten kernels\].*?(?=\nThe language)", "", parts[1], flags=re.MULTILINE | re.DOTALL)
    tutorial, groups = [intro], []
    is_reference = False
    for part in map(inside_code, parts[2:]):
        title = re.match(r"#+ (.*)", part).group(1)
        is_reference = is_reference or title == "Reference"
        if not is_reference:
            tutorial.append(part)
        elif title not in ("Reference", "Diagnostics"):
            groups.append((title, part))
    site.add("tutorial.html", "Ten kernels", "Language", rendered(inside_code("\n".join(tutorial))), source)
    for title, part in groups:
        page = rendered(re.sub(r"^#(#+ )", r"\1", outside_code(part), flags=re.MULTILINE).replace("\0", "#"))
        site.add(f"language-{anchor_of(title)}.html", title, "Language", page, source)


def outside_code(text):
    """Protects the `#` at the beginning of lines in code, which are not titles."""
    return re.sub(r"^```.*?^```$", lambda block: re.sub(r"^#", "\0", block.group(), flags=re.MULTILINE), text,
                  flags=re.MULTILINE | re.DOTALL)


def inside_code(text):
    return text.replace("\0", "#")


def add_library(site, folder):
    """Adds the pages of `kernelc doc`, which also writes the style and the search of the site to the folder."""
    made = json.loads(output_of("doc", "std", "-o", str(folder), "--json"))
    site.template = made["template"]
    for number, page in enumerate(made["pages"]):
        file = "library.html" if number == 0 else page["file"]
        title = "All files" if number == 0 else page["title"]
        site.add(file, title, "Library", page["html"], ROOT / "stdlib/KERNELS.md" if number == 0 else None)


def with_code(text):
    """Returns the HTML of a line of text in which code is between backticks."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))


def add_diagnostics(site):
    entries = json.loads(output_of("explain", "diagnostics", "--json"))["entries"]
    phases = dict.fromkeys(entry["phase"] for entry in entries)
    source = ROOT / "grammar/DIAGNOSTICS.md"
    for number, phase in enumerate(phases):
        page = f"<h1>{html.escape(phase)}</h1>"
        for entry in (one for one in entries if one["phase"] == phase):
            page += f'<h2 id="{entry["id"].lower()}">{entry["id"]}: {with_code(entry["message"])}</h2>'
            page += rendered(without_tags(entry["explanation"]))
            if "wrong" in entry:
                page += '<div class="pair">' + "".join(
                    f"<div><b>{word}</b><pre><code>{highlighted(html.escape(entry[word.lower()].strip(), quote=False))}</code></pre></div>"
                    for word in ("Wrong", "Right")) + "</div>"
        site.add(f"diagnostics-{anchor_of(phase)}.html", phase, "Diagnostics", page, source if number == 0 else None)


def add_guide(site):
    for name in GUIDE:
        source = ROOT / f"samples/guide/{name}.md"
        text = source.read_text()
        title = re.match(r"# (.*)", text).group(1)
        if re.search(r"^kernelc .* \.\./", text, re.MULTILINE):
            text = text.replace("\n", "\n\nThe commands on this page start in the folder `samples/guide` of the source tree.\n", 1)
        site.add(f"{name.lower()}.html", title, "Guide", rendered(text), source)


def kernel_text(source, name):
    """Returns the item with this name, with its comment."""
    found = re.search(rf"((?:^///[^\n]*\n)*^(?:export )?(?:fn|kernel|program) {name}\b.*?^\}}$)", source, re.MULTILINE | re.DOTALL)
    return found.group(1)


GALLERY = [
    ("Mandelbrot set", ["escape", "mandelbrot"], [("mandelbrot.png", "600 x 480 pixels, at most 200 iterations")]),
    ("Image filters", ["blur", "edges"], [("filter_before.png", "before"), ("filter_blur.png", "blurred"), ("filter_edges.png", "edges")]),
    ("Bodies", ["bodies", "accelerations"], [("bodies_before.png", "2048 bodies"), ("bodies_after.png", "after 150 steps")]),
    ("Attention", ["attention"], [("attention.png", "the weight of each key (column) for each query (row)")]),
    ("Training", ["train", "errors", "descend"],
     [("training_loss.svg", "loss over 400 epochs"), ("training_weights.png", "the weights for the digits 0 to 9")]),
]


def add_gallery(site, folder):
    subprocess.run([sys.executable, str(ROOT / "samples/gallery/draw.py"), str(folder / "pictures")], check=True, timeout=600)
    source = (ROOT / "samples/gallery/gallery.kdl").read_text()
    page = "<h1>Gallery</h1><p>The pictures are results of these kernels, which ran when this site was made.</p>"
    for title, kernels, pictures in GALLERY:
        page += f'<h2 id="{anchor_of(title)}">{title}</h2>'
        page += "".join(f'<figure><img src="pictures/{name}" alt="{title}: {text}"><figcaption>{text}</figcaption></figure>'
                        for name, text in pictures)
        code = "\n\n".join(kernel_text(source, kernel) for kernel in kernels)
        page += f"<pre><code>{highlighted(html.escape(code, quote=False))}</code></pre>"
    site.add("gallery.html", "Gallery", "Start", page, ROOT / "samples/gallery/README.md")


def sections_of(file, title, page):
    """Yields [file, anchor, title, text] for each section of a page, for the search."""
    parts = re.split(r'<h\d id="([^"]*)">(.*?)</h\d>', page, flags=re.DOTALL)

    def plain(part):
        within_words = re.sub(r"</?span[^>]*>|<wbr>", "", part)
        return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", within_words))).strip()
    if plain(parts[0]):
        yield [file, "", title, plain(parts[0])]
    for at in range(1, len(parts), 3):
        yield [file, parts[at], plain(parts[at + 1]), plain(parts[at + 2])]


def contents(site, here):
    text, last = "", None
    for file, title, group, _ in site.pages:
        if group != last:
            text += f"<b>{group}</b>"
        last = group
        text += f'<a href="{file}"{" class=here" if file == here else ""}>{html.escape(title)}</a>'
    return text


def write(site, folder):
    sources = {file: source for (source, _), file in site.anchors.items()}
    sections = []
    for file, title, _, page in site.pages:
        linked = site.linked(page, sources.get(file))
        sections += sections_of(file, title, linked)
        parts = {"@TITLE@": f"{html.escape(title)} - KDL", "@CONTENTS@": contents(site, file), "@PAGE@": linked}
        (folder / file).write_text(re.sub("|".join(parts), lambda found: parts[found.group()], site.template))
    (folder / "index.js").write_text("const SECTIONS = " + json.dumps(sections, ensure_ascii=False) + ";\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    site = Site()
    site.add("index.html", "KDL and kernelc", "Start", "", ROOT / "README.md")
    add_gallery(site, folder)
    site.add("reference.html", "KDL on one page", "Start", rendered((ROOT / "grammar/REFERENCE.md").read_text()), ROOT / "grammar/REFERENCE.md")
    add_language(site)
    add_library(site, folder)
    add_diagnostics(site)
    add_guide(site)
    page = rendered((ROOT / "README.md").read_text())
    site.pages[0] = ("index.html", "KDL and kernelc", "Start", page)
    write(site, folder)
    print(f"{folder}/index.html: {len(site.pages)} pages")


if __name__ == "__main__":
    main()
