"""Compares the command-line program with flock, kazoo, Curator and zkCli.sh.

    bench_cli.py CONCLAVE [--json FILE] [--rounds N]

All commands except flock use one durable `conclave serve`. conclave uses the Unix socket, which is
its default, and the others use TCP. hyperfine runs the commands one after the other, in several
rounds. The figures are medians of all runs.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
JARS = "/usr/share/java/{}.jar"
CURATOR = ":".join(JARS.format(j) for j in (
    "curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute",
    "slf4j-simple", "netty-codec", "netty-resolver"))


def times(command, env, runs):
    """The time of each run, in seconds."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run(
            ["hyperfine", "--shell=none", "--warmup", "2", "--runs", str(runs), "--style", "none",
             "--export-json", out.name, command],
            env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return json.load(out)["results"][0]["times"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("conclave")
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    conclave = os.path.abspath(args.conclave)

    with tempfile.TemporaryDirectory(prefix="cli") as folder:
        subprocess.run(
            ["javac", "-cp", CURATOR, "-d", folder, os.path.join(HERE, "CuratorLock.java")],
            check=True)
        env = {k: v for k, v in os.environ.items() if not k.startswith("CONCLAVE_")}
        env |= {"CONCLAVE_LOCAL": folder, "CONCLAVE_CONFIG": "/dev/null"}
        server = subprocess.Popen(
            [conclave, "serve", "--data", folder, "--listen", "127.0.0.1:0"],
            env=env, stdout=subprocess.PIPE, text=True)
        try:
            address = server.stdout.readline().split()[2]
            measure(args, conclave, address, folder, env)
        finally:
            server.terminate()
            server.wait()


def measure(args, conclave, address, folder, env):
    subprocess.run([conclave, "znode", "create", "-p", "/bench/node", "data"], env=env, check=True,
                   stdout=subprocess.DEVNULL)
    commands = {  # name: (command, runs in a round)
        "flock": (f"flock {folder}/file true", 100),
        "conclave lock": (f"{conclave} lock x -- true", 100),
        "kazoo lock": (f"/usr/bin/python3 {HERE}/kazoo_lock.py {address} /bench/kazoo true", 3),
        "Curator lock": (f"java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp {folder}:{CURATOR} "
                         f"CuratorLock {address} /bench/curator true", 3),
        "conclave znode get": (f"{conclave} znode get /bench/node", 100),
        "zkCli.sh get": (f"/usr/share/zookeeper/bin/zkCli.sh -server {address} get /bench/node", 3),
    }
    cores = os.cpu_count()
    print(f"machine      {cores} cores, {platform.system()} {platform.release()}")
    print(f"program      {subprocess.check_output([conclave, '--version'], text=True).strip()}")
    print("server       conclave serve, durable; Unix socket for conclave, TCP for the others\n")
    seconds = {name: [] for name in commands}
    for number in range(args.rounds):
        print(f"... round {number + 1} of {args.rounds}", file=sys.stderr)
        for name, (command, runs) in commands.items():
            seconds[name] += times(command, env, runs)

    ms = {name: [t * 1000 for t in all] for name, all in seconds.items()}
    median = {name: statistics.median(all) for name, all in ms.items()}
    for name, all in ms.items():
        deciles = statistics.quantiles(all, n=10)
        print(f"{name:20} {median[name]:8.2f} ms  ({deciles[0]:.2f}–{deciles[-1]:.2f}, "
              f"fastest {min(all):.2f})")
    print()
    goals = [
        ("cli-lock-to-flock", median["conclave lock"] / median["flock"], "<=", 3),
        ("cli-kazoo-to-lock", median["kazoo lock"] / median["conclave lock"], ">=", 10),
        ("cli-curator-to-lock", median["Curator lock"] / median["conclave lock"], ">=", 10),
        ("cli-zkcli-to-get", median["zkCli.sh get"] / median["conclave znode get"], ">=", 20),
    ]
    for name, value, op, limit in goals:
        met = value <= limit if op == "<=" else value >= limit
        print(f"goal {name} measured {value:.3g} want {op} {limit} {'met' if met else 'missed'}")
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"milliseconds": ms, "goals": goals}, f)


main()
