"""Texts of kernelc with pictures, which notebooks show."""

from __future__ import annotations

import html
import os
import pathlib
from typing import Any

PAGE = '<iframe srcdoc="{}" style="width:100%;height:30em;border:0"></iframe>'


class Shown(str):
    """What a command of kernelc has printed, and the picture that it has written. A notebook shows the picture."""

    #: The picture: an SVG, or an HTML page.
    picture: str

    @classmethod
    def of(cls, text: str, picture: pathlib.Path) -> Shown:
        made = cls(text)
        made.picture = picture.read_text(encoding="utf-8")
        return made

    @property
    def is_svg(self) -> bool:
        return self.picture.startswith("<svg")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture to a file, whose name must end in `.svg` or `.html`, as the picture is one."""
        suffix = ".svg" if self.is_svg else ".html"
        if pathlib.Path(path).suffix != suffix:
            raise ValueError(f"the picture is {'an SVG' if self.is_svg else 'an HTML page'}; write it to a file whose name ends in {suffix}")
        pathlib.Path(path).write_text(self.picture, encoding="utf-8")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        del include, exclude
        if self.is_svg:
            return {"text/plain": str(self), "image/svg+xml": self.picture}
        # The styles of a page must not change those of the notebook.
        return {"text/plain": str(self), "text/html": PAGE.format(html.escape(self.picture))}
