"""Reads where a cubin's kernel expects its parameters. Attributes of a kernel are in its section .nv.info.NAME:
a format, an attribute, then a number of two bytes or that many bytes."""

import struct

PARAMETER, BANK = 0x17, 0x0A  # EIATTR_KPARAM_INFO, EIATTR_PARAM_CBANK
WITH_BYTES = 4


def sections(raw):
    """Returns the sections of a 64-bit ELF file by name."""
    start, = struct.unpack_from("<Q", raw, 0x28)
    size, count, names = struct.unpack_from("<HHH", raw, 0x3A)
    entries = [struct.unpack_from("<IIQQQQIIQQ", raw, start + size * n) for n in range(count)]
    strings = entries[names][4]
    return {raw[strings + name:raw.index(b"\0", strings + name)].decode(): raw[at:at + length]
            for name, kind, _, _, at, length, *_ in entries if kind != 8}


def attributes(info):
    at = 0
    while at < len(info):
        format_, attribute, number = struct.unpack_from("<BBH", info, at)
        at += 4
        length = number if format_ == WITH_BYTES else 0
        yield attribute, info[at:at + length]
        at += length


def parameter_places(path, entry):
    """Returns (offset in the constant bank, [(offset from there, bytes) for each parameter])."""
    found, bank = {}, None
    for attribute, data in attributes(sections(path.read_bytes())[f".nv.info.{entry}"]):
        if attribute == PARAMETER:
            _, number, offset, flags = struct.unpack("<IHHI", data)
            found[number] = offset, flags >> 18
        elif attribute == BANK:
            _, bank, _ = struct.unpack("<IHH", data)
    return bank, [found[number] for number in range(len(found))]
