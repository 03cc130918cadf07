"""SLURM on this machine: a controller and one node with two CPUs, ended by their pids.

It needs Debian's `slurm-wlm`, root, and a network of its own (`loopback.py`).
"""

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch")
CONFIG = """\
ClusterName=sfp
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
KillWait=10
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=cpu Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    return [name for name in COMMANDS if shutil.which(name) is None]


class Controller:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="sfp-slurm-"))
        # It asks for addresses that are not of the loopback kind; this one is no more.
        add = ["ip", "addr", "add", "10.255.255.1/32", "dev", "lo"]
        subprocess.run(add, check=False, capture_output=True)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        host = os.uname().nodename
        config = self.folder / "slurm.conf"
        config.write_text(CONFIG.format(host=host, folder=self.folder))
        key = self.folder / "key"
        key.write_bytes(secrets.token_bytes(64))
        key.chmod(0o600)
        self.env = os.environ | {"SLURM_CONF": str(config)}
        self.processes: list[subprocess.Popen] = []
        munge = ["munged", "--foreground", "--force", f"--key-file={key}"]
        munge += [f"--socket={self.folder}/munge", f"--pid-file={self.folder}/m.pid"]
        munge += [f"--log-file={self.folder}/m.log", f"--seed-file={self.folder}/seed"]
        self._start(munge)
        self._start(["slurmctld", "-D", "-f", str(config)])
        self._start(["slurmd", "-D", "-f", str(config)])
        self._until_idle()

    def _start(self, command):
        log = (self.folder / f"{command[0]}.out").open("wb")
        with log as file:
            made = subprocess.Popen(command, env=self.env, stdout=file, stderr=file)
        self.processes.append(made)
        time.sleep(1.0)

    def _until_idle(self):
        deadline = time.monotonic() + 60
        while True:
            found = self.run("sinfo", "-h", "-o", "%t")
            if found.stdout.strip() == "idle":
                return
            told = found.stderr + self.logs()
            assert time.monotonic() < deadline, told
            time.sleep(0.5)

    def run(self, *command):
        return subprocess.run(command, env=self.env, capture_output=True, text=True)

    def logs(self) -> str:
        files = [*self.folder.glob("*.out"), *self.folder.glob("*.log")]
        return "\n".join(file.read_text()[-1500:] for file in files)

    def close(self):
        self.run("scancel", "--user=root")
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
