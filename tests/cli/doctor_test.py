"""`conclave doctor`: its checks and exit codes."""

import json
import socket
import socketserver
import struct
import subprocess
import threading
import time

import pytest
from conftest import BINARY, stop


def examined(world, *args, code=0, **rest):
    """The checks by name. If several checks have the same name, the last one."""
    r = world.conclave("doctor", "--json", *args, **rest)
    assert (r.returncode, r.stderr) == (code, ""), r
    result = json.loads(r.stdout)
    assert result["reached"] == (code != 69)
    return {c["name"]: c for c in result["checks"]}


def hosts_of(world, *args, code=0):
    r = world.conclave("doctor", "--json", *args)
    assert r.returncode == code, r
    return [c for c in json.loads(r.stdout)["checks"] if c["name"] == "host"]


def marks(found):
    return {name: f["mark"] for name, f in found.items()}


class FakeServer(socketserver.ThreadingTCPServer):
    """A proxy that replies to four-letter words with the given texts and forwards all other
    requests.

    clock_offset: milliseconds that are added to the creation times of nodes.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, backend, answers, clock_offset=0):
        super().__init__(("127.0.0.1", 0), None)
        self.backend, self.answers, self.clock_offset = backend, answers, clock_offset
        self.address = f"127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}).start()

    def finish_request(self, request, client_address):
        first = request.recv(65536)
        if first[:4].isalpha():
            word = first[:4].decode()
            refusal = f"{word} is not executed because it is not in the whitelist.\n"
            request.sendall(self.answers.get(word, refusal).encode())
            return
        host, port = self.backend.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as server:
            server.sendall(first)
            back = threading.Thread(target=self.pump,
                                    args=(server, request, self.with_clock_offset))
            back.start()
            self.pump(request, server, lambda data: data)
            back.join()

    @staticmethod
    def pump(source, to, change):
        try:
            while data := source.recv(65536):
                to.sendall(change(data))
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def with_clock_offset(self, data):
        at = data.find(b"/conclave/doctor-")
        if at < 0 or self.clock_offset == 0:
            return data
        at += len("/conclave/doctor-") + 10 + 16  # after the path and two zxids
        ctime = struct.unpack_from(">q", data, at)[0]
        return data[:at] + struct.pack(">q", ctime + self.clock_offset) + data[at + 8:]


@pytest.fixture
def fake_server(world):
    """A function that starts a FakeServer and returns its address."""
    _, backend = world.serve()
    started = []

    def start(answers, **rest):
        started.append(FakeServer(backend, answers, **rest))
        return started[-1].address

    yield start
    for s in started:
        s.shutdown()
        s.server_close()


def srvr(mode, zxid=0x100000000, version="3.8.0-abc"):
    return (f"Zookeeper version: {version}, built on 2022-02-25\nLatency min/avg/max: 0/0.0/0\n"
            f"Zxid: {zxid:#x}\nMode: {mode}\nNode count: 5\n")


def figures(**values):
    return "".join(f"{name}\t{value}\n" for name, value in values.items())


def leader(size=3, synced=2, **more):
    return {"srvr": srvr("leader", **more),
            "mntr": figures(zk_quorum_size=size, zk_synced_followers=synced)}


def test_all_checks_pass_for_the_local_server(world):
    found = examined(world)
    assert set(marks(found).values()) == {"ok"}, found
    assert list(found) == ["server", "host", "ensemble", "disk", "session", "timeout",
                           "round trip", "write", "clock", "access"]
    assert "has been started" in found["server"]["text"]
    assert found["server"]["said_by"] == "this user's own server"
    assert "has been started" not in examined(world)["server"]["text"]
    # It has removed its nodes.
    assert world.ok("znode", "ls", "/") == "zookeeper\n"


def test_as_text(world):
    lines = world.ok("doctor").splitlines()
    assert lines[0].split()[:2] == ["ok", "server"]
    assert lines[-1] == "All checks passed."
    assert "\033" not in "".join(lines)
    t = world.terminal(BINARY, "doctor")
    assert t.wait() == 0
    assert "\033[32mok" in t.text


def test_a_server_on_tcp(world):
    _, address = world.serve()
    found = examined(world, env={"CONCLAVE_CONNECT": address})
    assert found["server"]["said_by"] == "CONCLAVE_CONNECT"
    assert found["host"]["mark"] == "ok" and found["host"]["mode"] == "standalone"
    assert found["access"]["mark"] == "warning" and "--auth-file" in found["access"]["advice"]
    assert found["round trip"]["median_ms"] > 0
    # Two names of the same server count as one server.
    port = address.rsplit(":")[1]
    assert examined(world, "-C", f"{address},localhost:{port}")["ensemble"]["mark"] == "ok"


def test_servers_that_cannot_be_reached(world):
    begin = time.monotonic()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # does not listen
        refusing = f"127.0.0.1:{s.getsockname()[1]}"
        found = hosts_of(
            world, "-C", f"{refusing},no-such-host.invalid,unix:/nowhere/socket",
            "--connect-timeout", "3s", code=69)  # a resolver may take longer than that
    assert [f["mark"] for f in found] == ["failed"] * 3
    assert found[0]["text"] == f"{refusing}: connection refused"
    assert "server runs" in found[0]["advice"]
    assert "no-such-host.invalid" in found[1]["text"] and found[1]["advice"]
    assert "the socket does not exist" in found[2]["text"] and "conclave serve" in found[2]["advice"]
    assert time.monotonic() - begin < 9
    r = world.conclave("doctor", "-C", "unix:/nowhere/socket")
    assert r.returncode == 69 and r.stdout.endswith("No server can be used.\n")


def test_the_local_server_cannot_start(world):
    with open(world.local, "w"):  # a file at the path of its folder
        found = examined(world, code=69)
    assert found["server"]["mark"] == "failed" and world.local in found["server"]["advice"]


def test_a_server_that_does_not_answer(world):
    server, address = world.serve()
    stop(server)
    begin = time.monotonic()
    found = examined(world, "-C", address, "--connect-timeout", "400ms", code=69)
    assert time.monotonic() - begin > 0.4
    assert found["host"]["mark"] == "failed" and "does not reply to 'srvr'" in found["host"]["text"]
    assert found["session"]["mark"] == "failed"
    # If another server answers, the check fails, but the other checks run.
    _, healthy = world.serve()
    found = examined(world, "-C", f"{address},{healthy}", "--connect-timeout", "5s", code=1)
    assert found["write"]["mark"] == "ok"


def test_a_server_that_is_not_zookeeper(world, fake_server):
    found = examined(world, "-C", fake_server({"srvr": "HTTP/1.1 400 Bad Request\r\n"}), code=1)
    assert found["host"]["mark"] == "failed" and "not ZooKeeper's" in found["host"]["text"]


def test_a_server_without_four_letter_words(world, fake_server):
    found = examined(world, "-C", fake_server({}))
    assert found["host"]["mark"] == "ok"
    assert found["ensemble"]["mark"] == "skipped" and "whitelist" in found["ensemble"]["advice"]


def test_a_complete_ensemble(world, fake_server):
    follower = {"srvr": srvr("follower")}
    hosts = [fake_server(leader()), fake_server(follower), fake_server(follower)]
    found = examined(world, "-C", ",".join(hosts))
    assert found["ensemble"]["mark"] == "ok"
    assert (found["ensemble"]["leader"], found["ensemble"]["in_sync"]) == (hosts[0], 3)
    found = examined(world, "-C", hosts[0])
    assert found["list"]["mark"] == "warning" and "1 of 3" in found["list"]["text"]
    found = examined(world, "-C", hosts[1])
    assert found["ensemble"]["mark"] == "warning"


def test_an_ensemble_with_one_down(world, fake_server):
    hosts = [fake_server(leader(synced=1)), fake_server({"srvr": srvr("follower")}), "127.0.0.1:1"]
    found = examined(world, "-C", ",".join(hosts), code=1)
    assert found["host"]["mark"] == "failed"
    assert found["ensemble"]["mark"] == "failed" and "2 of 3" in found["ensemble"]["text"]
    assert "majority" in found["ensemble"]["advice"]
    assert found["write"]["mark"] == "ok"


def test_a_follower_far_behind(world, fake_server):
    hosts = [fake_server(leader(zxid=0x500010000)),
             fake_server({"srvr": srvr("follower", zxid=0x500000000)}),
             fake_server({"srvr": srvr("follower", zxid=0x500010000)})]
    found = examined(world, "-C", ",".join(hosts))
    assert found["lag"]["mark"] == "warning" and f"{hosts[1]} is 65536" in found["lag"]["text"]


def test_no_majority(world, fake_server):
    words = {"srvr": "This ZooKeeper instance is not currently serving requests\n"}
    found = examined(world, "-C", fake_server(words), code=1)
    assert found["host"]["mark"] == "failed" and "majority" in found["host"]["advice"]


def test_different_versions(world, fake_server):
    hosts = [fake_server(leader(size=2, synced=1)),
             fake_server({"srvr": srvr("follower", version="3.7.1-x")})]
    found = examined(world, "-C", ",".join(hosts))
    assert found["versions"]["mark"] == "warning" and "3.7.1" in found["versions"]["text"]


def alone(name):
    return {"srvr": srvr("standalone"), "conf": f"dataDir=/{name}\n",
            "envi": "Environment:\nhost.name=here\n"}


@pytest.mark.parametrize("words", [
    [alone("a"), alone("b")],
    [leader(), leader()],
    [alone("a"), {"srvr": srvr("follower")}],
])
def test_servers_that_do_not_belong_together(world, fake_server, words):
    found = examined(world, "-C", ",".join(fake_server(w) for w in words), code=1)
    assert found["ensemble"]["mark"] == "failed"
    assert "do not exclude clients" in found["ensemble"]["advice"]


def test_two_servers_without_identity(world, fake_server):
    # They may be the same server with two names.
    hosts = [fake_server({"srvr": srvr("standalone")}) for _ in range(2)]
    assert examined(world, "-C", ",".join(hosts))["ensemble"]["mark"] == "warning"


def test_a_different_version_of_conclave(world, fake_server):
    words = {"srvr": srvr("standalone", version="3.8.0-conclave-9.9.9")}
    found = examined(world, "-C", fake_server(words))
    assert found["version"]["mark"] == "warning" and "9.9.9" in found["version"]["text"]


def test_full_disk(world, fake_server):
    words = {"srvr": srvr("standalone"), "mntr": figures(conclave_disk_full=1)}
    found = examined(world, "-C", fake_server(words), code=1)
    assert found["disk"]["mark"] == "failed" and "free at least 4 MiB" in found["disk"]["advice"]


def test_a_loaded_server(world, fake_server):
    words = {"srvr": srvr("standalone"), "mntr": figures(
        zk_open_file_descriptor_count=900, zk_max_file_descriptor_count=1000)}
    found = examined(world, "-C", fake_server(words))
    assert found["load"]["mark"] == "warning" and "900 of at most 1000" in found["load"]["text"]


@pytest.mark.parametrize("clock_offset, said", [
    (-90_500, "1m30s behind"), (7_200_500, "2h00m ahead")])
def test_clocks_differ(world, fake_server, clock_offset, said):
    found = examined(world, "-C", fake_server({}, clock_offset=clock_offset))
    assert found["clock"]["mark"] == "warning" and said in found["clock"]["text"]


@pytest.mark.parametrize("asked, mark, part", [
    ("10s", "ok", "granted 10s"),
    ("1s", "warning", "loses all locks"),
    ("3m", "warning", "stay held"),
])
def test_unusual_session_timeouts(world, asked, mark, part):
    _, address = world.serve("--min-session-timeout", "100ms", "--max-session-timeout", "10m")
    found = examined(world, "-C", address, "--session-timeout", asked)["timeout"]
    assert found["mark"] == mark and part in found["text"]


def test_a_timeout_other_than_requested(world):
    _, address = world.serve("--max-session-timeout", "12s")
    found = examined(world, "-C", address)["timeout"]
    assert (found["mark"], found["asked_ms"], found["given_ms"]) == ("warning", 30000, 12000)


def test_access(world):
    _, address = world.serve()
    world.env["CONCLAVE_CONNECT"] = address
    world.secret("digest:ops:secret")
    found = examined(world, "--auth-file", "auth")
    assert found["access"]["mark"] == "ok" and "credentials are used" in found["access"]["text"]
    assert found["secrecy"]["mark"] == "warning"
    # Only its creator can create nodes there, so other users cannot create locks.
    world.ok("znode", "create", "/conclave", "--auth-file", "auth")
    found = examined(world, "--auth-file", "auth", code=1)
    assert found["access"]["mark"] == "failed" and "other users cannot" in found["access"]["text"]
    assert "--set world:anyone:cdrwa" in found["access"]["advice"]
    found = examined(world, code=1)
    assert found["write"]["mark"] == "failed" and "clock" not in found
    assert "--set world:anyone:cdrwa" in found["write"]["advice"]
    # An ACL that was set explicitly is accepted.
    world.ok("znode", "acl", "/conclave", "--auth-file", "auth", "--set", "auth::cdrwa")
    assert examined(world, "--auth-file", "auth")["access"]["mark"] == "ok"
    world.ok("znode", "acl", "/conclave", "--auth-file", "auth", "--set", "world:anyone:cdrwa")
    assert examined(world)["write"]["mark"] == "ok"


def test_a_missing_chroot(world):
    _, address = world.serve()
    found = examined(world, "-C", address + "/app", code=1)
    assert found["chroot"]["mark"] == "failed" and "/app" in found["chroot"]["text"]
    world.ok("znode", "create", "-C", address, "/app")
    assert examined(world, "-C", address + "/app")["write"]["mark"] == "ok"


@pytest.fixture
def secure(world):
    """The address of a TLS server, with a host name. Its certificate for localhost is valid for 5
    days."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", world.path("key"), "-out", world.path("cert"), "-days", "5",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True)
    p = world.start_conclave(
        "serve", "--durability", "none", "--no-socket", "--tls-listen", "127.0.0.1:0",
        "--tls-cert", "cert", "--tls-key", "key")
    return "localhost:" + p.stdout.readline().split()[2].rsplit(":", 1)[1]


def test_tls(world, secure):
    found = examined(world, "-C", secure, "--tls-ca", "cert")
    assert found["host"]["mark"] == "ok" and "standalone" in found["host"]["text"]
    # The certificate expires in five days.
    assert found["tls"]["mark"] == "warning" and "TLSv1" in found["tls"]["text"]
    assert "CN=localhost" in found["tls"]["text"] and "renew" in found["tls"]["advice"]


def test_tls_not_trusted(world, secure):
    found = examined(world, "-C", secure, "--tls", code=69)
    assert "not trusted" in found["host"]["text"] and "--tls-ca" in found["host"]["advice"]
    number = secure.replace("localhost", "127.0.0.1")
    found = examined(world, "-C", number, "--tls-ca", "cert", code=69)
    assert "another host" in found["host"]["text"] and "--tls-any-host" in found["host"]["advice"]
    found = examined(world, "-C", number, "--tls-ca", "cert", "--tls-any-host")
    assert found["host"]["mark"] == "ok"


def test_tls_on_the_wrong_port(world, secure):
    _, plain = world.serve()
    found = examined(world, "-C", plain, "--tls-ca", "cert", "--connect-timeout", "2s", code=69)
    assert found["host"]["mark"] == "failed" and "port" in found["host"]["advice"]
    found = examined(world, "-C", secure, "--connect-timeout", "500ms", code=69)
    assert found["host"]["mark"] == "failed" and "--tls" in found["host"]["advice"]


def test_help_has_an_example(world):
    assert "conclave doctor -C " in world.ok("doctor", "--help").split("Example")[1]
