#!/usr/bin/env python3
"""Tests the site that samples/site/make.py writes, and the pages that `kernelc doc` writes about files: every link leads to a page and an anchor, nothing comes from a network,
the search knows every section and finds what is typed, texts have enough contrast, and the pictures of the gallery show
something and have texts that replace them. The OpenMP program of the guide compiles."""

import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

from shared import checks, svg

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def check_links(folder, least_pages, least_links):
    pages = {path.name: path.read_text() for path in folder.glob("*.html")}
    anchors = {name: set(re.findall(r'\bid="([^"]+)"', page)) for name, page in pages.items()}
    links = 0
    for name, page in pages.items():
        for address in map(html.unescape, re.findall(r'<a (?:[^>]* )?href="([^"]*)"', page)):
            if re.match(r"[a-z]+:", address):
                continue
            path, _, anchor = address.partition("#")
            links += 1
            checks.expect(f"{name}: the link {address}", (path or name) in pages and (not anchor or anchor in anchors[path or name]))
        assets = re.findall(r'\bsrc="([^"]*)"|<link [^>]*href="([^"]*)"', page)
        for asset in (one or other for one, other in assets):
            checks.expect(f"{name}: {asset} is a file of the site", (folder / asset).is_file())
    checks.expect("pages and links were found", len(pages) > least_pages and links > least_links, f"{len(pages)} pages, {links} links")
    return anchors


# The tags of the pages. Others come from text such as k<D = 64>(…) whose brackets are not escaped.
TAGS = set("""html head meta title link body div nav main details summary input script p a b em strong h1 h2 h3 h4 ul ol li pre code span
table thead tbody tr th td figure figcaption img hr br wbr small blockquote""".split())


def check_tags(folder):
    for path in folder.glob("*.html"):
        others = set(re.findall(r"</?([a-zA-Z]\w*)", re.sub(r"<!doctype html>|<script>.*?</script>", "", path.read_text(), flags=re.DOTALL))) - TAGS
        checks.expect(f"{path.name}: shows no backslashes of Markdown", "\\|" not in path.read_text())
        checks.expect(f"{path.name}: all tags are those of pages", not others, " ".join(sorted(others)))


def sections_of(folder, anchors):
    """Returns the sections that the search knows, which must exist."""
    text = (folder / "index.js").read_text()
    sections = json.loads(text.removeprefix("const SECTIONS = ").rstrip(";\n"))
    for page, anchor, title, _ in sections:
        checks.expect(f"the section {title} exists", page in anchors and (not anchor or anchor in anchors[page]))
    return sections


def check_search(folder, anchors):
    titles = {title for _, _, title, _ in sections_of(folder, anchors)}
    for wanted in ("Ranges", "Windows", "std.nn.softmax", "From Triton", "Gallery"):
        checks.expect(f"the search knows {wanted}", wanted in titles)
    library = (folder / "library.html").read_text()
    checks.expect("the list of the library's files has links", '<a href="std.nn.html">std.nn</a></td>' in library)
    checks.expect("the search knows the diagnostics", any(title.startswith("E0302: ") for title in titles))


# Runs search.js without a browser: the page is two objects, of which it uses a few properties. The queries are typed into the
# field one after another, and what the page then shows is printed.
BROWSER = """
const [folder, queries] = [process.argv[1], JSON.parse(process.argv[2])];
const read = name => require("fs").readFileSync(`${folder}/${name}`, "utf8");
const field = { value: "", addEventListener: (event, run) => { field[event] = run; } };
const found = { innerHTML: "", set textContent(text) { this.innerHTML = text; } };
const document = { querySelector: () => field, getElementById: () => found };
new Function("document", read("index.js") + read("search.js"))(document);
console.log(JSON.stringify(queries.map(query => { field.value = query; field.input(); return found.innerHTML; })));
"""
# What is typed, and the title that the first hit must have.
SEARCHES = {"ranges": "Ranges", "RANGES": "Ranges", "  windows ": "Windows", "std.nn.softmax": "std.nn.softmax", "e0302": "E0302: ",
            "from triton": "From Triton", "e0414 prove": "E0414: "}


def check_typed_searches(folder, anchors):
    if shutil.which("node") is None:
        print("skipped: typed searches, node is missing")
        return
    queries = [*SEARCHES, "", "k", "xyzzy plugh", "<b>"]
    ran = subprocess.run(["node", "-e", BROWSER, str(folder), json.dumps(queries)], capture_output=True, text=True, timeout=60)
    checks.expect("the search runs", ran.returncode == 0, ran.stderr)
    if ran.returncode != 0:
        return
    shown = dict(zip(queries, json.loads(ran.stdout), strict=True))
    for query, title in SEARCHES.items():
        hits = re.findall(r'<a href="([^"#]+)#([^"]*)">(.*?)<small>(.*?)</small></a>', shown[query], re.DOTALL)
        checks.expect(f"'{query}' finds {title} first", hits != [] and html.unescape(hits[0][2]).startswith(title),
                      str([hit[2] for hit in hits]))
        checks.expect(f"'{query}' shows at most 12 hits", len(hits) <= 12)
        checks.expect(f"all hits of '{query}' lead to sections",
                      all(page in anchors and (not anchor or anchor in anchors[page]) for page, anchor, _, _ in hits))
    checks.expect("a hit marks the word", "<mark>windows</mark>" in shown["  windows "].lower())
    checks.expect("nothing is shown before something is typed", shown[""] == shown["k"] == "", shown["k"])
    checks.expect("words that no section has find nothing", shown["xyzzy plugh"] == "nothing found")
    checks.expect("the page shows no tags of the query or of sections", "<b>" not in shown["<b>"])


def check_pictures(folder):
    pictures = sorted((folder / "pictures").glob("*.png"))
    checks.expect("there are pictures", len(pictures) >= 8)
    for path in pictures:
        data = path.read_bytes()
        at = data.index(b"IDAT")
        length = int.from_bytes(data[at - 4:at], "big")
        pixels = zlib.decompress(data[at + 4:at + 4 + length])
        checks.expect(f"{path.name} shows something", len(set(pixels)) > 2)
    curves = sorted((folder / "pictures").glob("*.svg"))
    checks.expect("there is a curve", curves)
    for path in curves:
        svg.check(path.name, path.read_text(), 2, has_legend=False)  # a curve has one colour


# The least contrast of texts that the guidelines for web content (WCAG 2.1, level AA) allow.
LEAST_CONTRAST = 4.5
# Texts that style.css colours, and what is below them.
TEXTS = [("--text", "--page"), ("--soft", "--page"), ("--link", "--page"), ("--text", "--code"), ("--soft", "--code"),
         ("--link", "--code"), (".k", "--code"), (".n", "--code"), (".s", "--code"), ("--text", "--mark"), ("--link", "--mark")]


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def check_contrast():
    style = (ROOT / "src/tools/doc/style.css").read_text()
    dark = "\n".join(re.findall(r"@media \(prefers-color-scheme: dark\) \{(.*?\})\s*\}", style, re.DOTALL))
    light = re.sub(r"@media \(prefers-color-scheme: dark\) \{.*?\}\s*\}", "", style, flags=re.DOTALL)
    for scheme, text in (("light", light), ("dark", dark)):
        colours = dict(re.findall(r"(--\w+): (#\w+)", text)) | dict(re.findall(r"(\.\w) \{ color: (#\w+)", text))
        for above, below in TEXTS:
            known = above in colours and below in colours
            checks.expect(f"{scheme}: {above} and {below} have colours", known, str(colours))
            if known:
                lower, higher = sorted((luminance(colours[above]), luminance(colours[below])))
                contrast = (higher + 0.05) / (lower + 0.05)
                checks.expect(f"{scheme}: {above} on {below} can be read", contrast >= LEAST_CONTRAST, f"{contrast:.2f}")


def check_texts_of_pictures(folder, least):
    """Checks that each picture has a text that says what it shows, and each field a label."""
    found = 0
    for path in sorted(folder.glob("*.html")):
        for tag in re.findall(r"<(?:img|svg|input)\b[^>]*>", re.sub(r"<pre>.*?</pre>", "", path.read_text(), flags=re.DOTALL)):
            found += tag.startswith("<img")
            text = re.search(r'\b(?:alt|aria-label)="([^"]+)"', tag)
            checks.expect(f"{path.name}: {tag} has a text", text and len(text[1]) > 5)
    checks.expect("there are pictures with texts", found >= least, str(found))


def check_openmp():
    page = (ROOT / "samples/guide/coming_from.md").read_text()
    program = next(code for code in re.findall(r"^```cpp\n(.*?)^```$", page, re.MULTILINE | re.DOTALL) if "#pragma omp" in code)
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "softmax.cpp"
        file.write_text(program)
        made = subprocess.run(["g++", "-fopenmp", "-Wall", "-Werror", "-c", str(file), "-o", str(file) + ".o"], capture_output=True, text=True)
    checks.expect("the OpenMP program compiles", made.returncode == 0, made.stderr)


# A file with everything that a page shows, and texts that HTML must escape.
DOCUMENTED = """// Kernels & more: `a < b`.

/// A table.
export const WEIGHTS: f32[3] = [0.25, 0.5, 0.25];

/// Scales by `s`, if s < 1.
/// The second line.
///
/// - a list
/// - of two lines
///
/// ```kdl
/// spmd scale(2.0, x, none, y);
/// ```
export kernel scale<T: f32 | f64, B: int = auto>(s: T, x: in T[N], bias: in T[N]?, y: out T[N])
    where N <= 1000
{
    spmd for i in N by B { y[i] = s * x[i] + (if bias then bias[i] else 0.0); }
}
ensures { y[i] ~ s * x[i] + (if bias then bias[i] else 0.0); }

kernel hidden(x: in f32[N], y: out f32[N]) { spmd for i in N by 16 { y[i] = x[i]; } }

test "scale <two> numbers" {
    let x: f32[2] = [1.0, 2.0];
    let y: f32[2];
    spmd scale(2.0, x, none, y);
    expect y == [2.0, 4.0];
}
"""


def check_own_pages(folder):
    """Tests the pages of `kernelc doc` about files of a user, of which two have the same name."""
    (folder / "more").mkdir()
    for name in ("scale.kdl", "index.kdl", "more/scale.kdl"):
        (folder / name).write_text(DOCUMENTED)
    made = subprocess.run(["kernelc", "doc", ".", "std.nn"], cwd=folder, capture_output=True, text=True, timeout=60)
    checks.expect("pages are made", made.returncode == 0 and made.stdout == "doc/index.html\n", made.stderr)
    if made.returncode != 0:
        return
    pages = folder / "doc"
    anchors = check_links(pages, 4, 30)
    check_tags(pages)
    check_texts_of_pictures(pages, 0)
    titles = {(page, title) for page, _, title, _ in sections_of(pages, anchors)}
    checks.expect("each item of a file is a section of its own page", len([title for _, title in titles if title == "scale"]) == 3)
    checks.expect("an item of the library has its long name", ("std.nn.html", "std.nn.softmax") in titles)
    text = next(page for page in (path.read_text() for path in pages.glob("*scale*.html")) if "WEIGHTS" in page)
    plain = html.unescape(re.sub(r"<[^>]*>", "", text))
    for wanted in ("Kernels & more: a < b.", "Scales by s, if s < 1. The second line.", "a list", "optional input", "where N <= 1000",
                   "ensures { y[i] ~ s * x[i]", "Example: scale <two> numbers", "expect y == [2.0, 4.0];", "= [0.25, 0.5, 0.25]"):
        checks.expect(f"the page shows: {wanted}", wanted in plain, plain)
    checks.expect("items that are not exported have no section", "hidden" not in plain)
    wrong = subprocess.run(["kernelc", "doc", "missing.kdl", "-o", "other"], cwd=folder, capture_output=True, text=True, timeout=60)
    checks.expect("a missing file is an error", wrong.returncode != 0 and not (folder / "other").exists(), wrong.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        check_own_pages(pathlib.Path(name))
    if subprocess.run([sys.executable, "-c", "import markdown, numpy"], capture_output=True).returncode != 0:
        print("skipped: Python's markdown or NumPy is missing")
        return SKIPPED
    check_openmp()
    check_contrast()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "site"
        made = subprocess.run([sys.executable, str(ROOT / "samples/site/make.py"), str(folder)], capture_output=True, text=True, timeout=600)
        checks.expect("the site is made", made.returncode == 0, made.stderr)
        if made.returncode == 0:
            anchors = check_links(folder, 30, 1000)
            check_tags(folder)
            check_search(folder, anchors)
            check_typed_searches(folder, anchors)
            check_pictures(folder)
            check_texts_of_pictures(folder, 8)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
