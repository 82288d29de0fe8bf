"""A zip locked with a password, which zipfile reads but cannot write (PKWARE's traditional encryption, APPNOTE 6.1)."""

import struct
import zlib
from pathlib import Path

LOCAL_HEADER = b"PK\x03\x04"
CENTRAL_HEADER = b"PK\x01\x02"
END = b"PK\x05\x06"
ENCRYPTED = 1  # flag bit 0
MASK = 0xFFFFFFFF


def write_locked_zip(path: Path, name: str, content: bytes, password: bytes) -> None:
    """One member, not compressed."""
    crc = zlib.crc32(content)
    # Twelve bytes lead; the last lets a reader see whether the password fits.
    locked = locked_bytes(bytes(11) + bytes([crc >> 24]) + content, password)
    file_name = name.encode()
    facts = struct.pack("<HHHHHIIIHH", 20, ENCRYPTED, 0, 0, 33, crc, len(locked), len(content), len(file_name), 0)
    local = LOCAL_HEADER + facts + file_name + locked
    central = CENTRAL_HEADER + struct.pack("<H", 20) + facts + struct.pack("<HHHII", 0, 0, 0, 0, 0) + file_name
    end = END + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    path.write_bytes(local + central + end)


def locked_bytes(content: bytes, password: bytes) -> bytes:
    """The content as the cipher gives it."""
    keys = [0x12345678, 0x23456789, 0x34567890]
    for byte in password:
        turn(keys, byte)
    locked = bytearray()
    for byte in content:
        mixed = (keys[2] | 2) & 0xFFFF
        locked.append(byte ^ (mixed * (mixed ^ 1) >> 8 & 0xFF))
        turn(keys, byte)
    return bytes(locked)


def turn(keys: list[int], byte: int) -> None:
    """Move the three keys on by one plain byte."""
    keys[0] = crc_step(keys[0], byte)
    keys[1] = ((keys[1] + (keys[0] & 0xFF)) * 134775813 + 1) & MASK
    keys[2] = crc_step(keys[2], keys[1] >> 24)


def crc_step(crc: int, byte: int) -> int:
    """CRC-32 moved on by one byte, without the inversions that zlib adds."""
    return zlib.crc32(bytes([byte]), crc ^ MASK) ^ MASK
