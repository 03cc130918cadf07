"""The command line: one module per command, every error one line."""

from __future__ import annotations

import os
import sys

import tyro

from sfp.cli.collect import collect
from sfp.cli.data import data
from sfp.cli.doctor import doctor
from sfp.cli.explore import explore
from sfp.cli.list import list_known
from sfp.errors import SfpError

COMMANDS = {
    "collect": collect,
    "data": data,
    "explore": explore,
    "list": list_known,
    "doctor": doctor,
}
ABOUT = """\
State-free priors: explore sparse-reward control from recorded actions alone.

A first walk:
  sfp collect room                     record reaching trajectories
  sfp data sfp/room/scripted-v0        see what they hold
  sfp explore room-large               how far random and scripted actions get

`sfp COMMAND --help` explains a command; add --json for scripts."""


def main(args: list[str] | None = None) -> None:
    """Run a command; a user's mistake prints one line and exits with code 2."""
    args = sys.argv[1:] if args is None else args
    try:
        tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog="sfp",
            description=ABOUT,
            args=args or ["--help"],
            config=(tyro.conf.FlagCreatePairsOff,),
        )
        sys.stdout.flush()
    except SfpError as error:
        print(f"sfp: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of `sfp ... | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        print(
            "sfp: interrupted; nothing half-written was left behind.", file=sys.stderr
        )
        sys.exit(130)
