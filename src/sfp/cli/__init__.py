"""The command line: one module per command, every error one line."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from io import TextIOWrapper
from typing import NoReturn

from sfp import __version__
from sfp.cli.collect import collect
from sfp.cli.curves import curves
from sfp.cli.data import data
from sfp.cli.doctor import doctor
from sfp.cli.evaluate import evaluate
from sfp.cli.explore import explore
from sfp.cli.export import export
from sfp.cli.fit import fit
from sfp.cli.list import list_known
from sfp.cli.prior import prior
from sfp.cli.push import pull, push
from sfp.cli.report import report
from sfp.cli.reproduce import reproduce
from sfp.cli.train import train
from sfp.cli.usage import parse
from sfp.cli.view import view
from sfp.errors import Busy, Interrupted, SfpError, plain
from sfp.outside import import_plugins

COMMANDS = {
    "collect": collect,
    "data": data,
    "view": view,
    "fit": fit,
    "prior": prior,
    "explore": explore,
    "train": train,
    "evaluate": evaluate,
    "export": export,
    "curves": curves,
    "reproduce": reproduce,
    "report": report,
    "push": push,
    "pull": pull,
    "list": list_known,
    "doctor": doctor,
}
ABOUT = """\
State-free priors: explore sparse-reward control from recorded actions alone.

First steps:
  sfp collect room                                     record trajectories
  sfp data sfp/room/scripted-v0                        describe the dataset
  sfp fit sfp/room/scripted-v0 --out priors/room       learn a prior from it
  sfp explore room-large --prior priors/room           measure its exploration
  sfp train maze --prior priors/room --out runs/maze   learn a new task with it
  sfp curves runs/maze                                 draw its learning curves
  sfp report runs                                      write one HTML file about runs
  sfp reproduce transfer                               run the paper's main experiment

`sfp COMMAND --help` explains a command, and --json prints its result for scripts.
`sfp --version` prints the version. For completion with the tab key, put
`eval "$(sfp --print-completion bash)"` into your ~/.bashrc (or zsh, fish)."""

SHELLS = ("bash", "zsh", "fish")

TOO_BIG = ("Maximum allowed dimension exceeded", "array is too big")
"""What NumPy says of arrays beyond all memory, and not as a MemoryError."""


def _check_words(args: list[str]) -> None:
    """Refuse words that no file can be named by; a shell cannot pass them."""
    for word in args:
        try:
            named = b"\0" not in os.fsencode(word)
        except UnicodeEncodeError:
            named = False
        if not named:
            raise SfpError(f"{word!a} is no text: expected words as a shell has them.")


def _completion(args: list[str]) -> list[str]:
    """`--print-completion SHELL` in the parser's own words."""
    if args[:1] != ["--print-completion"]:
        return args
    if len(args) != 2 or args[1] not in SHELLS:
        raise SfpError(
            f"expected --print-completion with one of {', '.join(SHELLS)}, received "
            f"{' '.join(args[1:]) or 'nothing'}."
        )
    return ["--tyro-print-completion", args[1]]


def main(args: list[str] | None = None) -> None:
    """Run a command; a user's mistake prints one line and exits with code 2."""
    args = sys.argv[1:] if args is None else args
    _open_streams()
    warnings.showwarning = _warn
    if args == ["--version"]:
        print(f"sfp {__version__}")
        return
    try:
        try:
            _check_words(args)
            import_plugins()
            args = _completion(args)
            parse(COMMANDS, args, ABOUT)()
        finally:
            sys.stdout.flush()
    except Interrupted as error:
        _stop(130, str(error))
    except Busy as error:
        _stop(Busy.code, str(error))
    except SfpError as error:
        _stop(2, str(error))
    except MemoryError as error:
        _stop(2, f"out of memory: {str(error) or 'ask for less at a time'}.")
    except ValueError as error:
        if not str(error).startswith(TOO_BIG):
            raise
        _stop(2, f"out of memory: {error}: ask for less at a time.")
    except OSError as error:  # nearly always of stdout: a closed pipe, a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # `sfp ... | head` has seen enough
            sys.exit(0)
        _stop(2, f"{error}.")
    except KeyboardInterrupt:
        _stop(
            130,
            "interrupted; nothing half-written was left behind. A fit goes on from "
            "its last epoch with the same command, a run with --resume.",
        )


def _warn(message: Warning | str, *_: object) -> None:
    _say(f"sfp: warning: {plain(str(message))}")


def _stop(code: int, reason: str) -> NoReturn:
    _say(f"sfp: {plain(reason)}")
    sys.exit(code)


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # nobody listens: the exit code still tells
        print(line, file=sys.stderr, flush=True)


def _open_streams() -> None:
    """Let stdout and stderr take any text, also where the caller closed them.

    A closed one (`sfp ... 2>&-`) would give its number to the next file that is opened.
    """
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            held = os.open(os.devnull, os.O_RDWR)
            if held != number:
                os.dup2(held, number)
                os.close(held)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115
        elif name != "stdin" and isinstance(held := getattr(sys, name), TextIOWrapper):
            held.reconfigure(errors="backslashreplace")
