#!/usr/bin/env python3
"""Packages the extension as kernelc-VERSION.vsix: package.py [OUT.vsix]

A .vsix file is a zip archive of the extension's files with a manifest. `npm` downloads the client library of the language
server protocol first, unless node_modules contains it."""

import json
import pathlib
import subprocess
import sys
import zipfile
from xml.sax.saxutils import escape, quoteattr

HERE = pathlib.Path(__file__).resolve().parent
FILES = ["package.json", "README.md", "extension.js", "language-configuration.json", "syntaxes", "node_modules"]
# The types of files by their endings. Visual Studio Code refuses archives that contain others.
OTHER_TYPES = {".json": "application/json", ".js": "application/javascript", ".md": "text/markdown",
               ".vsixmanifest": "text/xml"}

MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={name} Version={version} Publisher={publisher}/>
    <DisplayName>{title}</DisplayName>
    <Description xml:space="preserve">{description}</Description>
    <Categories>{categories}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/>
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def manifest_of(package):
    return MANIFEST.format(name=quoteattr(package["name"]), version=quoteattr(package["version"]),
                           publisher=quoteattr(package["publisher"]), title=escape(package["displayName"]),
                           description=escape(package["description"]), categories=escape(",".join(package["categories"])),
                           engine=quoteattr(package["engines"]["vscode"]))


def content_types(files):
    endings = sorted({file.suffix for file in files if file.suffix} | {".vsixmanifest"})
    rows = "".join(f'<Default Extension="{ending}" ContentType="{OTHER_TYPES.get(ending, "application/octet-stream")}"/>'
                   for ending in endings)
    named = "".join(f'<Override PartName={quoteattr("/extension/" + file.as_posix())} ContentType="application/octet-stream"/>'
                    for file in files if not file.suffix)
    return ('<?xml version="1.0" encoding="utf-8"?>\n'
            f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{rows}{named}</Types>\n')


def packed_files():
    """Returns the files of the extension, relative to its folder."""
    found = []
    for name in FILES:
        path = HERE / name
        found += [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    return [path.relative_to(HERE) for path in found]


def main():
    package = json.loads((HERE / "package.json").read_text())
    if any(not (HERE / "node_modules" / name).is_dir() for name in package["dependencies"]):
        subprocess.run(["npm", "install", "--omit=dev", "--no-audit", "--no-fund", "--no-package-lock"], cwd=HERE, check=True)
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else f"{package['name']}-{package['version']}.vsix")
    files = packed_files()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", content_types(files))
        archive.writestr("extension.vsixmanifest", manifest_of(package))
        for file in files:
            archive.write(HERE / file, f"extension/{file.as_posix()}")
    print(f"{out}: {len(files)} files")


if __name__ == "__main__":
    main()
