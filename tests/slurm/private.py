"""A real Slurm of its own: munged, slurmctld and several slurmd on loopback, all in one folder, for a limited time.

    python tests/slurm/private.py FOLDER [--nodes N] [--cpus N] [--lifetime SECONDS]

prints ``ready`` once all nodes are idle and then obeys lines on standard input: ``kill NAME`` (with SIGKILL, as a crash
would) and ``start NAME``, where NAME is ``slurmctld`` or a node, ``n1``, ``n2``, ... Each is answered by ``done``. It
ends, with everything that it or a job has started, at the end of standard input (so with whoever started it), on
SIGTERM, and after its lifetime. ``FOLDER/bin`` holds Slurm's commands for this cluster: to have it first in PATH is all
that a user needs.
"""

import argparse
import contextlib
import ctypes
import getpass
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

COMMANDS = ("srun", "sbatch", "squeue", "scontrol", "sinfo", "scancel", "sacct", "salloc", "sacctmgr", "sshare")
DAEMONS = ("munged", "slurmctld", "slurmd")
#: Where Debian puts daemons, which is not in every user's PATH.
DAEMON_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
#: How long the cluster may take to come up [s].
PATIENCE = 180.0
#: Which ports Linux gives to those who don't ask for one; it would give a daemon's away while the daemon is down.
EPHEMERAL_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36

# Nodes claim more processors than there are (config_overrides). proctrack/linuxproc and task/none don't depend on the
# host's control groups; instead of them Slurm's own gathering looks every second what a job holds, shared pages shared
# out, and kills it if that is more than it has asked for. A job that is requeued waits for cred_expire. Each node has a
# TmpFS of its own: PMIx names its folders there by job and step alone. Slurm believes that the first node has a GPU,
# which is a device that does nothing.
CONFIGURATION = """\
ClusterName=private
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=10
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
TmpFS={folder}/tmp/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,sched_min_interval=0,batch_sched_delay=0
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=UsePss,OverMemoryKill
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdTimeout={node_timeout}
MessageTimeout=5
MinJobAge=600
GresTypes=gpu
"""

PARTITION = "PartitionName=debug Nodes=ALL Default=YES LLN=YES DefaultTime=10 MaxTime=60 State=UP\n"
# Jobs of `urgent` take the nodes of others, which are sent again; those of `short` end after a minute.
PREEMPTION = """\
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
PartitionName=short Nodes=ALL LLN=YES DefaultTime=1 MaxTime=1 PriorityTier=1 State=UP
PartitionName=urgent Nodes=ALL DefaultTime=1 MaxTime=10 PriorityTier=10 PreemptMode=OFF State=UP
"""


def missing() -> list[str]:
    """Return the programs a private Slurm needs that are not installed."""
    return [name for name in (*DAEMONS, *COMMANDS) if shutil.which(name, path=DAEMON_PATH) is None]


class Cluster:
    """The daemons, as children of this process.

    Parameters
    ----------
    folder : Path
        Empty; short, because munge's socket lies in it.
    nodes, cpus : int
        How many nodes, and how many processors each claims to have.
    node_timeout : int
        Seconds after which a silent node counts as down.
    preemption : bool
        Whether there are partitions `urgent` and `short`, too.
    unequal : bool
        Whether the last node claims to have twice as much memory as the others.
    """

    def __init__(
        self,
        folder: Path,
        nodes: int,
        cpus: int,
        node_timeout: int = 6,
        *,
        preemption: bool = False,
        unequal: bool = False,
    ) -> None:
        self.folder = folder
        self.nodes = [f"n{number + 1}" for number in range(nodes)]
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        for name in ("state", "spool", "log", "bin", *(f"tmp/{node}" for node in self.nodes)):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o755)  # munge refuses a socket in a folder that others may write to
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self._configure(cpus, node_timeout, preemption=preemption, unequal=unequal)
        for command in COMMANDS:
            wrapper = folder / "bin" / command
            wrapper.write_text(f"#!/bin/sh\nSLURM_CONF='{self._conf}' exec '{shutil.which(command)}' \"$@\"\n")
            wrapper.chmod(0o755)

    @property
    def _conf(self) -> Path:
        return self.folder / "slurm.conf"

    def _configure(self, cpus: int, node_timeout: int, *, preemption: bool, unequal: bool) -> None:
        host = socket.gethostname().split(".")[0]
        controller, *ports = free_ports(1 + len(self.nodes))
        text = CONFIGURATION.format(
            host=host, user=getpass.getuser(), folder=self.folder, port=controller, node_timeout=node_timeout
        )
        for node, port in zip(self.nodes, ports, strict=True):
            memory = 32000 if unequal and node == self.nodes[-1] else 16000
            text += (
                f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} Boards=1 "
                f"SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory={memory} State=UNKNOWN"
                f"{' Gres=gpu:1' if node == self.nodes[0] else ''}\n"
            )
        (self.folder / "gres.conf").write_text(f"NodeName={self.nodes[0]} Name=gpu File=/dev/null\n")
        text += PARTITION + (PREEMPTION if preemption else "")
        self._conf.write_text(text)

    def start(self, name: str) -> None:
        """Start a daemon in the foreground, so that it stays this process's child."""
        munge = [f"--{key}={self.folder}/munge.{key.split('-')[0]}" for key in ("key-file", "pid-file", "seed-file")]
        commands = {
            "munged": ["munged", "--foreground", f"--socket={self.folder}/munge.socket", *munge],
            "slurmctld": ["slurmctld", "-D"],
        }
        command = commands.get(name, ["slurmd", "-D", "-N", name])
        command[0] = shutil.which(command[0], path=DAEMON_PATH) or command[0]
        with (self.folder / "log" / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "SLURM_CONF": str(self._conf)},
                preexec_fn=end_with_parent,  # noqa: PLW1509 (there are no threads)
            )

    def kill(self, name: str) -> None:
        """End a daemon as a crash would."""
        daemon = self.running.pop(name)
        daemon.kill()
        daemon.wait()

    def start_all(self) -> None:
        """Start everything and wait until all nodes are idle.

        Raises
        ------
        RuntimeError
            If a daemon ends or the nodes don't come up.
        """
        self.start("munged")
        self._wait_for((self.folder / "munge.socket").exists)
        for name in ("slurmctld", *self.nodes):
            self.start(name)
        self._wait_for(lambda: self.states() == ["idle"] * len(self.nodes))

    def states(self) -> list[str]:
        """Return the state of each node, in Slurm's words."""
        done = subprocess.run(
            [self.folder / "bin" / "sinfo", "-h", "-N", "-p", "debug", "-o", "%T"],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.split()

    def _wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            dead = [name for name, daemon in self.running.items() if daemon.poll() is not None]
            if dead or time.monotonic() > deadline:
                logs = [f"{name}: {self._tail(name)}" for name in dead or self.running]
                raise RuntimeError("the private Slurm does not start; " + "; ".join(logs))
            time.sleep(0.1)

    def _tail(self, name: str) -> str:
        lines = (self.folder / "log" / f"{name}.log").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no log"


def free_ports(number: int) -> list[int]:
    """Return ports of the loopback interface that nobody listens at, and that the system gives to nobody else."""
    first = int(EPHEMERAL_PORTS.read_text().split()[0])
    found: list[int] = []
    for port in random.SystemRandom().sample(range(first // 2, first), first - first // 2):
        with socket.socket() as each, contextlib.suppress(OSError):
            each.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == number:
            return found
    raise RuntimeError("no free ports")


def end_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of whatever descendants lose theirs: Slurm's step daemons detach themselves."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def descendants() -> set[int]:
    """Return the ids of all processes that this one has started, at any remove, and that have not ended."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (folder / "stat").read_text().rpartition(") ")[2].split()[:2]
                if state != "Z":
                    parents[int(folder.name)] = int(parent)
    found = {os.getpid()}
    while True:
        more = {process for process, parent in parents.items() if parent in found} - found
        if not more:
            return found - {os.getpid()}
        found |= more


def end_descendants(patience: float = 10.0) -> None:
    """Kill all of them."""
    deadline = time.monotonic() + patience
    while (left := descendants()) and time.monotonic() < deadline:
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)


def lines(deadline: float) -> Iterator[list[str]]:
    """Yield the words of each line of standard input until its end or the deadline."""
    buffer = b""
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([sys.stdin], [], [], left)[0]:
            return
        chunk = os.read(sys.stdin.fileno(), 4096)
        if not chunk:
            return
        *whole, buffer = (buffer + chunk).split(b"\n")
        for line in whole:
            yield line.decode().split()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a cluster until told to stop."""
    parser = argparse.ArgumentParser(description="A private Slurm for tests.")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--cpus", type=int, default=16, help="processors each node claims to have")
    parser.add_argument("--lifetime", type=float, default=300.0, help="seconds after which everything ends")
    parser.add_argument("--preemption", action="store_true", help="partitions whose jobs are preempted, or end soon")
    parser.add_argument("--unequal", action="store_true", help="the last node has twice as much memory as the others")
    parser.add_argument("--missing", action="store_true", help="only print which programs are not installed")
    options = parser.parse_args(arguments)
    if options.missing or options.folder is None:
        print(*missing())
        return
    deadline = time.monotonic() + options.lifetime
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    adopt_orphans()
    try:
        cluster = Cluster(
            options.folder.resolve(),
            options.nodes,
            options.cpus,
            preemption=options.preemption,
            unequal=options.unequal,
        )
        cluster.start_all()
        print("ready", flush=True)
        for action, name in lines(deadline):
            {"kill": cluster.kill, "start": cluster.start}[action](name)
            print("done", flush=True)
    except RuntimeError as error:
        sys.exit(str(error))
    finally:
        end_descendants()


if __name__ == "__main__":
    main()
