"""Starting the command under mpirun, watching its ranks, and two machines made of network namespaces."""
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import tap

FLAGS = ["--allow-run-as-root", "--oversubscribe", "--quiet"]
TIMEOUT = 300


class Run:
    """A command under mpirun. ranks: {rank: process id} as far as they have started."""

    def __init__(self, size, words, extra=(), wrap=()):
        if shutil.which("mpirun") is None:
            raise tap.Skip("mpirun is not installed (Debian: openmpi-bin)")
        self.began = time.monotonic()
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*wrap, "mpirun", *FLAGS, "-n", str(size), *extra, *words], stdin=subprocess.DEVNULL,
                                        stdout=self.out, stderr=self.err, start_new_session=True)

    def ranks(self):
        """{rank: process id} of the descendants of mpirun that run the command."""
        found = {}
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as file:
                    words = dict(word.split(b"=", 1) for word in file.read().split(b"\0") if b"=" in word)
                number = int(path.split("/")[2])
                if b"OMPI_COMM_WORLD_RANK" in words and os.getsid(number) is not None and self.is_ours(number):
                    found[int(words[b"OMPI_COMM_WORLD_RANK"])] = number
            except (OSError, ValueError):
                continue
        return found

    def is_ours(self, number):
        while number > 1:
            if number == self.process.pid:
                return True
            with open("/proc/%d/stat" % number, encoding="utf-8") as file:
                number = int(file.read().rsplit(")", 1)[1].split()[1])
        return False

    def watching(self, size):
        """Waits until all ranks run their watch, and returns their process ids."""
        for _ in range(600):
            ranks = self.ranks()
            if len(ranks) == size and all(self.has_thread(number, "sideband watch") for number in ranks.values()):
                return ranks
            assert self.process.poll() is None, self.text(self.err)
            time.sleep(0.05)
        raise AssertionError("the ranks did not start")

    @staticmethod
    def has_thread(number, name):
        for path in glob.glob("/proc/%d/task/*/comm" % number):
            try:
                with open(path, encoding="utf-8") as file:
                    if file.read().strip() == name[:15]:
                        return True
            except OSError:
                continue
        return False

    @staticmethod
    def text(file):
        file.flush()
        file.seek(0)
        return file.read()

    def wait(self, limit=TIMEOUT):
        """Exit status, stdout, stderr."""
        try:
            status = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            told = self.text(self.err)
            for number in self.ranks().values():
                os.kill(number, signal.SIGKILL)
            self.process.kill()
            raise AssertionError("it hangs: " + told)
        return status, self.text(self.out), self.text(self.err)


def together(size, words, extra=(), wrap=()):
    """The JSON result of a command on so many ranks."""
    status, out, err = Run(size, words, extra, wrap).wait()
    assert status == 0, err + out
    return json.loads(out)


class Machines:
    """Two machines: network namespaces with an Ethernet between them and host names of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.names = ["sbmpi%da" % os.getpid(), "sbmpi%db" % os.getpid()]
        a, b = self.names
        ports = ["sba%d" % (os.getpid() % 100000), "sbb%d" % (os.getpid() % 100000)]
        commands = [["netns", "add", a], ["netns", "add", b],
                    ["link", "add", ports[0], "netns", a, "type", "veth", "peer", "name", ports[1], "netns", b]]
        for i, name in enumerate(self.names):
            inside = ["-n", name]
            commands += [inside + ["address", "add", "10.77.0.%d/24" % (i + 1), "dev", ports[i]],
                         inside + ["link", "set", ports[i], "up"], inside + ["link", "set", "lo", "up"]]
        try:
            for command in commands:
                subprocess.run(["ip", *command], check=True, capture_output=True, text=True)
        except FileNotFoundError as missing:
            raise tap.Skip("the command ip is not installed (Debian: iproute2)") from missing
        except subprocess.CalledProcessError as refused:
            self.close()
            raise tap.Skip("network namespaces are not allowed here: " + refused.stderr.strip()) from refused
        self.agent = os.path.join(folder, "agent.sh")
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nshift\nexec ip netns exec %s unshare -u sh -c \"hostname second; $*\"\n" % b)
        os.chmod(self.agent, 0o755)

    def wrap(self):
        return ["ip", "netns", "exec", self.names[0], "unshare", "-u", "sh", "-c", 'hostname first; exec "$@"', "sh"]

    def extra(self):
        return ["--host", "10.77.0.1:2,10.77.0.2:2", "--mca", "plm_rsh_agent", self.agent, "--mca", "btl", "self,vader,tcp",
                "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24"]

    def close(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
