"""Becomes a command on one core that dies with its parent; standard library only.

    python launch.py CORE PARENT COMMAND ...

All of it outlasts the change into the command. CORE is `-` where none can be chosen.
"""

import ctypes
import os
import signal
import sys

SET_DEATH_SIGNAL = 1


def main() -> None:
    core, parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # SLURM's word to who started it
    if core != "-":
        os.sched_setaffinity(0, {int(core)})
    if os.getppid() != int(parent):  # it died before it could be heard of
        sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
