"""Cases in a forked worker: a crash, a hang or much memory is a finding, not the end.

The worker lives on from case to case, until one of them ends it. It watches itself by
an audit hook: files that are opened for writing, code and processes that are started.
"""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

SECONDS = 10.0
MEMORY = 500 * 2**20
PLANTED = "planted"
"""A module that lies within reach of `import`, and that nothing may import."""

WRITES = {  # audit event: which arguments are a path that changes, and its folder
    "os.rename": ((0, 2), (1, 3)),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
}
RUNS = {
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "subprocess.Popen",
    "pickle.find_class",
}
SET_DEATH_SIGNAL = 1
CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(frozen=True)
class Verdict:
    """What became of a case: `loaded`, `refused`, or how it broke its promise."""

    outcome: str
    note: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0

    @property
    def is_finding(self):
        return self.outcome not in ("loaded", "refused")


class Watch:
    """What a process does that no loader may do, while it is armed."""

    def __init__(self, *, runs):
        self.found, self._allowed, self._armed, self._runs = [], (), False, runs
        sys.addaudithook(self._hear)

    @contextlib.contextmanager
    def __call__(self, *allowed):
        self.found, self._armed = [], True
        self._allowed = tuple(os.path.realpath(path) for path in allowed)
        try:
            yield
        finally:
            self._armed = False

    def _hear(self, event, args):
        if not self._armed:
            return
        if event == "open":
            path, _, flags = args
            if isinstance(path, str | bytes) and flags & CHANGES:
                exclusive = flags & (os.O_EXCL | os.O_NOFOLLOW)
                self._written(path if exclusive else os.path.realpath(path))
        elif event in WRITES:
            for path, folder in WRITES[event]:
                self._written(args[path], -1 if folder is None else args[folder])
        elif event in RUNS and not self._runs:
            self.found.append(f"runs code: {event} {str(args)[:200]}")
        elif event == "import" and args[0].split(".")[0] == PLANTED:
            self.found.append(f"imports {args[0]}")

    def _written(self, path, folder=-1):
        if isinstance(path, int):
            return
        base = os.getcwd() if folder == -1 else os.readlink(f"/proc/self/fd/{folder}")
        path = os.path.join(base, os.fsdecode(path))
        # Of the last name a link itself is changed, not what it points to.
        path = os.path.join(
            os.path.realpath(os.path.dirname(path)), os.path.basename(path)
        )
        if path != os.devnull and not path.startswith(self._allowed):
            self.found.append(f"writes {path}")


class Worker:
    """Runs cases in a process of its own.

    Args:
        run: called in that process with the case and a folder to write to; what it
            raises, `SfpError` apart, is a finding; what it returns is the note.
        root: folder of the worker: its output, its compiled programs.
        writes: where else it may write.
        lives: cases after which a new process is started.
        runs: whether it may start processes.
    """

    def __init__(self, run, root, *, writes=(), lives=10**9, runs=False):
        self._run, self._root, self._writes = run, Path(root), writes
        self._lives, self._runs, self.seconds = lives, runs, None
        self._process, self._left = None, 0

    def __call__(self, case, *, out, size=0, ready=60.0):
        """The verdict on a case.

        Args:
            case: handed to `run`.
            out: the only folder that may change.
            size: bytes of the data, on top of which `MEMORY` may be used.
            ready: seconds that a new process may take before its first case.
        """
        if self._left == 0:
            self.close()
            self._start(ready)
        self._left -= 1
        self._ours.send((case, str(out)))
        began = time.monotonic()
        limit = _resident(self._process.pid) + MEMORY + size
        while not self._ours.poll(0.02):
            seconds = time.monotonic() - began
            if not self._process.is_alive() and not self._ours.poll(0.1):
                code = self._process.exitcode
                self.close()
                return Verdict("crash", f"ended with code {code}", seconds)
            used = _resident(self._process.pid)
            if used > limit:
                self.close()
                return Verdict("memory", "", seconds, (used - limit + MEMORY) / 2**20)
            if seconds > (self.seconds or patience()):
                where = self._where()
                self.close()
                return Verdict("hang", where, seconds)
        try:
            verdict = self._ours.recv()
        except EOFError:
            self._process.join(5)
            code = self._process.exitcode
            self.close()
            return Verdict("crash", f"ended with code {code}")
        if verdict.megabytes * 2**20 > MEMORY + size and not verdict.is_finding:
            return Verdict("memory", verdict.note, verdict.seconds, verdict.megabytes)
        return verdict

    def close(self):
        """Kill the process and all that it started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.join()
            self._ours.close()
        self._process, self._left = None, 0

    def _start(self, ready):
        context = multiprocessing.get_context("fork")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=self._live, args=(theirs,), daemon=True)
        sys.stdout.flush()
        self._process.start()
        theirs.close()
        if not self._ours.poll(ready):
            self.close()
            raise TimeoutError("the worker did not get ready")
        self._ours.recv()
        self._left = self._lives

    def _live(self, pipe):
        os.setsid()
        ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
        said = os.open(self._root / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        import faulthandler

        faulthandler.register(signal.SIGUSR1)
        watch = Watch(runs=self._runs)
        pipe.send("ready")
        while True:
            case, out = pipe.recv()
            pipe.send(self._judge(watch, case, out))

    def _judge(self, watch, case, out):
        from sfp.errors import SfpError

        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # forget the peak
        before, began = _resident(os.getpid()), time.monotonic()
        try:
            with watch(out, self._root, *self._writes):
                outcome, note = "loaded", self._run(case, Path(out)) or ""
        except SfpError as error:
            outcome, note = "refused", str(error)
            if "\n" in note or not note.strip():
                outcome = "lines"
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            outcome = "raw"
            note = f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        if watch.found:
            outcome, note = "watch", "; ".join(watch.found[:5])
        seconds = time.monotonic() - began
        return Verdict(outcome, note[:600], seconds, (_peak() - before) / 2**20)

    def _where(self):
        """Where a hanging worker is, by its own word."""
        said = self._root / "said"
        before = said.stat().st_size
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGUSR1)
        time.sleep(0.2)
        lines = said.read_bytes()[before:].decode(errors="replace").splitlines()
        return " < ".join(line.strip() for line in lines if "File" in line)[:600]


def patience():
    """The limit of time; longer in proportion where others use the machine, too."""
    crowd = os.getloadavg()[0] / (os.cpu_count() or 1)
    return SECONDS * max(1.0, crowd)


def _resident(pid):
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _peak():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
