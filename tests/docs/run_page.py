"""Runs the code blocks of a page, or the C++ fragments of several pages:

    run_page.py FOLDER PAGE
    run_page.py FOLDER --fragments PAGE...

`pages_test.py` starts this program in its own namespaces, so it may change the host name, use any
port and write below /etc. FOLDER is empty.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from blocks import LANGUAGES, commands_of, matches, parts_of

LIMIT = 60  # seconds, for each block and each wait
MACHINES = {"zk1": "10.0.0.1", "zk2": "10.0.0.2", "zk3": "10.0.0.3"}


class Failure(Exception):
    pass


def until(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"timeout after {LIMIT} s while waiting for: {what}")
        time.sleep(0.01)


def run(*argv):
    subprocess.run(argv, check=True)


def has_one_user():
    """True if an ordinary user runs the test, because only this user exists in the namespaces."""
    return pathlib.Path("/proc/self/uid_map").read_text().split()[2] == "1"


def make_private(folder, *empty):
    """Gives this namespace its own /etc, and empty folders in place of others."""
    etc = folder / "etc"
    # Ordinary users cannot read some files. `cp` copies the others.
    subprocess.run(["cp", "-rT", "--no-preserve=ownership", "/etc", etc], stderr=subprocess.DEVNULL, check=False)
    run("mount", "--bind", etc, "/etc")
    for target in empty:
        if os.path.isdir(target):
            source = folder / target.strip("/").replace("/", "_")
            source.mkdir()
            run("mount", "--bind", source, target)


def set_home(home):
    """The user id determines the home folder of this user's own server and settings."""
    passwd = pathlib.Path("/etc/passwd")
    entries = [line.split(":") for line in passwd.read_text().splitlines()]
    for entry in entries:
        if int(entry[2]) == os.getuid():
            entry[5] = str(home)
    passwd.write_text("".join(":".join(entry) + "\n" for entry in entries))


class Terminal:
    """A shell. `prefix` starts it, for example in other namespaces."""

    def __init__(self, name, folder, env, cwd, prefix=()):
        self.files = folder / name.replace(" ", "_")
        self.files.mkdir()
        self.count = 0
        self.running = None  # a block that continues to run
        self.shell = subprocess.Popen(
            [*prefix, "bash", "--norc"], stdin=subprocess.PIPE, env=env, cwd=cwd, text=True
        )
        self.shell.stdin.write("set -m\n")  # each background job is a process group

    def send(self, text, background=False):
        self.count += 1
        script, output, status, pid = (self.files / f"{self.count}.{end}" for end in ("sh", "out", "rc", "pid"))
        script.write_text(text)
        run_script = f". {script} >{output} 2>&1 </dev/null"
        if background:
            job = f"{{ {run_script}; echo $? >{status}.new; mv {status}.new {status}; }} & echo $! >{pid}"
        else:
            job = f"{run_script}; echo $? >{status}.new; mv {status}.new {status}"
        self.shell.stdin.write(job + "\n")
        self.shell.stdin.flush()
        return output, status, pid

    def run(self, text, what):
        """Returns the exit status and the output."""
        output, status, _ = self.send(text)
        self.wait(status, what, output)
        return int(status.read_text()), output.read_text()

    def wait(self, status, what, output):
        def ended():
            if self.shell.poll() is not None:
                raise Failure(f"{what}: the shell has exited; output:\n{output.read_text()}")
            return status.exists()

        try:
            until(ended, what)
        except Failure as e:
            raise Failure(f"{e}; output:\n{output.read_text()}") from None


class Run:
    """The terminals, machines and files of a run."""

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.env = self.environment()
        self.terminals = {}
        self.exits = 0
        self.until = None

    def environment(self):
        binary = pathlib.Path(os.environ["CONCLAVE_BINARY"]).resolve()
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "conclave").symlink_to(binary)
        # Another Python in $PATH may lack the required packages.
        (programs / "python3").symlink_to("/usr/bin/python3")
        # The user of this namespace may already do everything.
        (programs / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (programs / "sudo").chmod(0o755)
        if has_one_user():
            # Files cannot belong to another user.
            (programs / "install").write_text(
                "#!/bin/bash\nwhile (($#)); do case $1 in -o | -g) shift ;; *) kept+=(\"$1\") ;; esac; shift; done\n"
                'exec /usr/bin/install "${kept[@]}"\n'
            )
            (programs / "install").chmod(0o755)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CONCLAVE_", "LC_"))}
        return {
            **kept,
            "HOME": str(self.home),
            "PATH": f"{programs}:{os.environ['PATH']}:/usr/sbin:/sbin",
            "NO_COLOR": "1",
            "LANG": "C.UTF-8",
        }

    def terminal(self, name):
        if name not in self.terminals:
            prefix = ()
            work = self.home / name if name in MACHINES else self.home
            work.mkdir(exist_ok=True)
            if name in MACHINES:
                (self.folder / name).mkdir()
                start = (sys.executable, "-B", __file__, "--machine", name, str(self.folder / name), str(work))
                prefix = ("unshare", "--mount", "--uts", "--net", *start)
            env = {**self.env, "HOME": str(work)}
            terminal = Terminal(name, self.folder / "terminals", env, work, prefix)
            self.terminals[name] = terminal
            if name in MACHINES:
                until((self.folder / name / "unshared").exists, f"the start of {name}")
                link = ("type", "veth", "peer", "name", "eth0", "netns", str(terminal.shell.pid))
                run("ip", "link", "add", f"to-{name}", *link)
                run("ip", "link", "set", f"to-{name}", "master", "bridge", "up")
        return self.terminals[name]

    # --- parts

    def run_page(self, page):
        for part in parts_of(page.read_text()):
            where = f"{page.name}:{part.line}"
            try:
                self.run_part(part, where)
            except Failure as e:
                raise Failure(f"{where}: {e}") from None

    def run_part(self, part, where):
        if part.kind == "instruction":
            self.follow(part)
        elif part.kind not in LANGUAGES:
            raise Failure(f"a block without a known language: '{part.kind}'")
        elif part.title == "on every machine":
            for name in MACHINES:
                self.run_block(part, self.terminal(name), where)
        elif part.title.startswith("on "):
            self.run_block(part, self.terminal(part.title[3:]), where)
        elif part.title.startswith("terminal "):
            self.run_block(part, self.terminal(part.title), where)
        elif part.title:
            self.write_file(part)
        elif part.kind == "cpp":
            pass  # run_fragments() compiles it
        elif part.kind in ("sh", "console"):
            self.run_block(part, self.terminal("terminal 1"), where)
        else:
            raise Failure(f"a {part.kind} block needs a title, the name of its file")
        if part.kind in ("sh", "console"):
            self.exits, self.until = 0, None

    def follow(self, part):
        text = part.text
        if match := re.fullmatch(r"exits (\d+)", text):
            self.exits = int(match[1])
        elif match := re.fullmatch(r"until (.*)", text, re.S):
            self.until = match[1]
        elif match := re.fullmatch(r"interrupt (terminal \d+)", text):
            self.end_block(self.terminal(match[1]), interrupted=True)
        elif match := re.fullmatch(r"wait for (terminal \d+)(?:, exits (\d+))?", text):
            self.end_block(self.terminal(match[1]), int(match[2] or 0))
        else:
            status, output = self.terminal(part.title or "terminal 1").run(text, text)
            if status != 0:
                raise Failure(f"the instruction exits with {status}; output:\n{output}")

    def write_file(self, part):
        file = pathlib.Path(part.title.replace("~", str(self.home)))
        file = file if file.is_absolute() else self.home / file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(part.text)

    def run_block(self, part, terminal, where):
        if terminal.running:
            raise Failure("an earlier block still runs in this terminal")
        if part.kind == "sh":
            commands = [[part.text, None]]
        else:
            commands = commands_of(part.text)
        for i, (command, expected) in enumerate(commands):
            last = i == len(commands) - 1
            if last and self.until:
                output, status, pid = terminal.send(command, background=True)
                terminal.running = (where, expected, output, status, pid)
                self.wait_until(output, pid)
                return
            status, output = terminal.run(command, command)
            self.check(command, status, self.exits if last else None, expected, output)

    def wait_until(self, output, pid):
        def holds():
            return output.exists() and pid.exists() and subprocess.run(
                ["bash", "-c", self.until], env=self.env, cwd=self.home, stdin=subprocess.DEVNULL,
                capture_output=True, check=False,
            ).returncode == 0  # fmt: skip

        try:
            until(holds, self.until)
        except Failure as e:
            raise Failure(f"{e}; output of the block:\n{output.read_text()}") from None

    def end_block(self, terminal, exits=0, interrupted=False):
        where, expected, output, status, pid = terminal.running
        terminal.running = None
        if interrupted:
            os.killpg(int(pid.read_text()), signal.SIGINT)
            # The shell of the job ends, too, so there is no exit status.
            until(lambda: not group_exists(int(pid.read_text())), f"the end of the block at {where}")
            self.check(f"the block at {where}", None, None, expected, output.read_text())
        else:
            terminal.wait(status, f"the end of the block at {where}", output)
            self.check(f"the block at {where}", int(status.read_text()), exits, expected, output.read_text())

    @staticmethod
    def check(what, status, wanted, expected, output):
        if wanted is not None and status != wanted:
            raise Failure(f"{what}\nexits with {status} instead of {wanted}; output:\n{output}")
        if expected is not None and not matches(expected, output):
            raise Failure(f"{what}\nprints:\n{output}\nbut the page shows:\n{expected}")

    def run_fragments(self, pages):
        """Compiles all fragments as one program, because a compilation takes some seconds.

        Each fragment is the body of a function with a client `zk`. So it cannot define functions; they
        need a block with a file name.
        """
        fragments = [(page, p) for page in pages for p in parts_of(page.read_text()) if p.kind == "cpp" and not p.title]
        program = [
            "#include <chrono>", "#include <iostream>", "#include <mutex>", "#include <shared_mutex>",
            "#include <thread>", "#include <conclave/conclave.hpp>", "using namespace std::chrono_literals;",
        ]  # fmt: skip
        for i, (page, part) in enumerate(fragments):
            program += [f"void fragment_{i}(conclave::client& zk) {{", f'#line {part.line + 1} "{page.name}"']
            program += [part.text, "}"]
        program += ["int main(int, char** argv) {", "  conclave::client zk{argv[1]};"]
        program += [*(f"  fragment_{i}(zk);" for i in range(len(fragments))), "}"]
        (self.home / "fragments.cpp").write_text("\n".join(program))
        for command in (
            "g++ -std=c++20 -Wall -Wextra -Werror -Wno-unused fragments.cpp -o fragments "
            "$(pkg-config --cflags --libs conclave)",
            "conclave serve --durability none --socket $HOME/socket >ready & while ! [ -s ready ]; do sleep 0.01; done",
            "./fragments unix:$HOME/socket",
        ):
            status, output = self.terminal("terminal 1").run(command, command)
            self.check(command, status, 0, None, output)


def group_exists(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def become_machine(name, folder, home, command):
    """Each machine has its own host name, address, and files below /etc and /var."""
    (folder / "unshared").touch()
    run("hostname", name)
    make_private(folder, "/var/lib", "/var/log")
    set_home(home)
    has_link = pathlib.Path("/proc/self/net/dev")
    until(lambda: "eth0" in has_link.read_text(), "the network link")
    run("ip", "link", "set", "lo", "up")
    run("ip", "addr", "add", f"{MACHINES[name]}/24", "dev", "eth0")
    run("ip", "link", "set", "eth0", "up")
    os.execvp(command[0], command)


def main():
    if sys.argv[1] == "--machine":
        become_machine(sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4], sys.argv[5:])
    folder = pathlib.Path(sys.argv[1])
    run("ip", "link", "set", "lo", "up")
    # Machines are connected to this bridge.
    run("ip", "link", "add", "bridge", "type", "bridge")
    run("ip", "addr", "add", "10.0.0.254/24", "dev", "bridge")
    run("ip", "link", "set", "bridge", "up")
    run("mount", "-t", "tmpfs", "tmpfs", str(folder))
    (folder / "files").mkdir()
    make_private(folder / "files", "/var/lib", "/var/log", "/usr/local/bin", "/usr/local/sbin", "/run/conclave")
    set_home(folder / "home")
    shutil.rmtree("/etc/conclave", ignore_errors=True)
    hosts = "127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in MACHINES.items())
    pathlib.Path("/etc/hosts").write_text(hosts)
    (folder / "terminals").mkdir()
    run_of_pages = Run(folder)
    try:
        if sys.argv[2] == "--fragments":
            run_of_pages.run_fragments([pathlib.Path(p) for p in sys.argv[3:]])
        else:
            run_of_pages.run_page(pathlib.Path(sys.argv[2]))
    except Failure as e:
        sys.exit(str(e))
    finally:
        for terminal in run_of_pages.terminals.values():
            terminal.shell.kill()


if __name__ == "__main__":
    main()
