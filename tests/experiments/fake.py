"""A quick stand-in for `sfp`: what a job does is in its words.

python fake.py FOLDER ACTION [--resume]

Notes every start in FOLDER/starts (process, cores, words), then `work`s for a moment,
`fail`s, fails `once`, `dies` of a signal, finds the folder `busy` thrice, `burns` its
log, `forgets` to leave its marker, `sleep`s for good, or `wait`s for FOLDER/go. On
SIGTERM it leaves FOLDER/saved.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

folder, action = Path(sys.argv[1]), sys.argv[2]
folder.mkdir(parents=True, exist_ok=True)
starts = folder / "starts"
again = starts.exists()


def save(*_):
    (folder / "saved").touch()
    sys.exit(130)


signal.signal(signal.SIGTERM, save)
cores = sorted(os.sched_getaffinity(0))
with starts.open("a") as file:
    note = {"pid": os.getpid(), "cores": cores, "words": sys.argv[2:]}
    file.write(json.dumps(note) + "\n")
(folder / "config.json").touch()
if action == "fail" or (action == "once" and not again):
    print("some line", file=sys.stderr)
    sys.exit("sfp: the disk is on fire: put it out.")
if action.startswith("dies"):  # `dies40` of another
    os.kill(os.getpid(), int(action[4:] or signal.SIGKILL))
if action == "busy" and len(starts.read_text().splitlines()) <= 3:
    sys.exit(75)
if action == "burns":
    for log in (folder.parent / "logs").iterdir():
        log.unlink()
    sys.exit(3)
if action == "forgets":
    sys.exit(0)
while action == "sleep" or (action == "wait" and not (folder / "go").exists()):
    time.sleep(0.01)
time.sleep(0.3 if action == "work" else 0.0)
(folder / "marker").touch()
