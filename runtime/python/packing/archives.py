"""Writes wheels and source archives. The same contents always become the same bytes."""

import base64
import gzip
import hashlib
import io
import os
import tarfile
import time
import zipfile


def moment():
    """Returns the time that files in archives get."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))


def write_wheel(path, files, record, level):
    """Writes {name: (content, whether it is a program)} to a wheel, with a list of all files under the name `record`."""
    rows = []
    with zipfile.ZipFile(path, "w") as wheel:
        def add(name, content, executable):
            info = zipfile.ZipInfo(name, time.gmtime(max(moment(), 315532800))[:6])
            info.external_attr = (0o100755 if executable else 0o100644) << 16
            wheel.writestr(info, content, zipfile.ZIP_DEFLATED, level)

        for name, (content, executable) in files.items():
            add(name, content, executable)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(content)}")
        add(record, "".join(f"{row}\n" for row in [*rows, f"{record},,"]).encode(), False)


def write_sources(path, folder, files):
    """Writes {name: content or the path of a file} to an archive with this folder."""
    with gzip.GzipFile(path, "wb", mtime=moment()) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, source in sorted(files.items()):
            content = source if isinstance(source, bytes) else source.read_bytes()
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size, info.mtime = len(content), moment()
            info.mode = 0o644 if isinstance(source, bytes) or not os.access(source, os.X_OK) else 0o755
            archive.addfile(info, io.BytesIO(content))
