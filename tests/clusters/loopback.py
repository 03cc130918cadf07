"""Becomes a command in a network of its own, which has the loopback device only.

    python loopback.py COMMAND ...

Whatever the command starts can listen to nobody outside. Linux only.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys

NEW_USER, NEW_NET = 0x10000000, 0x40000000
SET_FLAGS, UP_RUNNING = 0x8914, 0x41


def main() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_NET | (NEW_USER if os.getuid() else 0)):
        sys.exit(f"no network of its own: {os.strerror(ctypes.get_errno())}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh", b"lo", UP_RUNNING) + bytes(22)
        fcntl.ioctl(any_socket, SET_FLAGS, request)
    os.environ["SFP_CLUSTERS"] = "loopback"
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
