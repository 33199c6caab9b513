"""`conclave doctor`: what it finds, and how it ends."""

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
    """The findings by name; of several with one name, the last."""
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


class Stand(socketserver.ThreadingTCPServer):
    """Stands before a server: answers four-letter words with what it was given, passes on the rest.

    later: by how many milliseconds times of created nodes are moved.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, behind, answers, later=0):
        super().__init__(("127.0.0.1", 0), None)
        self.behind, self.answers, self.later = behind, answers, later
        self.address = f"127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}).start()

    def finish_request(self, request, client_address):
        first = request.recv(65536)
        if first[:4].isalpha():
            word = first[:4].decode()
            refusal = f"{word} is not executed because it is not in the whitelist.\n"
            request.sendall(self.answers.get(word, refusal).encode())
            return
        host, port = self.behind.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as server:
            server.sendall(first)
            back = threading.Thread(target=self.pump, args=(server, request, self.moved))
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

    def moved(self, data):
        at = data.find(b"/conclave/doctor-")
        if at < 0 or self.later == 0:
            return data
        at += len("/conclave/doctor-") + 10 + 16  # behind the path and two zxids
        ctime = struct.unpack_from(">q", data, at)[0]
        return data[:at] + struct.pack(">q", ctime + self.later) + data[at + 8:]


@pytest.fixture
def stand(world):
    """Makes servers that say of themselves what they are told to."""
    _, behind = world.serve()
    made = []

    def make(answers, **rest):
        made.append(Stand(behind, answers, **rest))
        return made[-1].address

    yield make
    for s in made:
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


def test_the_local_server_is_well(world):
    found = examined(world)
    assert set(marks(found).values()) == {"ok"}, found
    assert list(found) == ["server", "host", "ensemble", "disk", "session", "timeout",
                           "round trip", "write", "clock", "access"]
    assert "has been started" in found["server"]["text"]
    assert found["server"]["said_by"] == "this user's own server"
    assert "has been started" not in examined(world)["server"]["text"]
    # It leaves nothing behind.
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
    # The first one by each of its names is one server.
    port = address.rsplit(":")[1]
    assert examined(world, "-C", f"{address},localhost:{port}")["ensemble"]["mark"] == "ok"


def test_nobody_there(world):
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
    with open(world.local, "w"):  # a file where its folder would be
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
    # Beside one that answers it is a failure, and no reason to stop.
    _, well = world.serve()
    found = examined(world, "-C", f"{address},{well}", "--connect-timeout", "5s", code=1)
    assert found["write"]["mark"] == "ok"


def test_something_else_listens(world, stand):
    found = examined(world, "-C", stand({"srvr": "HTTP/1.1 400 Bad Request\r\n"}), code=1)
    assert found["host"]["mark"] == "failed" and "not ZooKeeper's" in found["host"]["text"]


def test_no_words(world, stand):
    found = examined(world, "-C", stand({}))
    assert found["host"]["mark"] == "ok"
    assert found["ensemble"]["mark"] == "skipped" and "whitelist" in found["ensemble"]["advice"]


def test_a_whole_ensemble(world, stand):
    hosts = [stand(leader()), stand({"srvr": srvr("follower")}), stand({"srvr": srvr("follower")})]
    found = examined(world, "-C", ",".join(hosts))
    assert found["ensemble"]["mark"] == "ok"
    assert (found["ensemble"]["leader"], found["ensemble"]["in_sync"]) == (hosts[0], 3)
    found = examined(world, "-C", hosts[0])
    assert found["list"]["mark"] == "warning" and "1 of 3" in found["list"]["text"]
    found = examined(world, "-C", hosts[1])
    assert found["ensemble"]["mark"] == "warning"


def test_an_ensemble_with_one_down(world, stand):
    hosts = [stand(leader(synced=1)), stand({"srvr": srvr("follower")}), "127.0.0.1:1"]
    found = examined(world, "-C", ",".join(hosts), code=1)
    assert found["host"]["mark"] == "failed"
    assert found["ensemble"]["mark"] == "failed" and "2 of 3" in found["ensemble"]["text"]
    assert "majority" in found["ensemble"]["advice"]
    assert found["write"]["mark"] == "ok"


def test_a_follower_far_behind(world, stand):
    hosts = [stand(leader(zxid=0x500010000)), stand({"srvr": srvr("follower", zxid=0x500000000)}),
             stand({"srvr": srvr("follower", zxid=0x500010000)})]
    found = examined(world, "-C", ",".join(hosts))
    assert found["lag"]["mark"] == "warning" and f"{hosts[1]} is 65536" in found["lag"]["text"]


def test_no_majority(world, stand):
    words = {"srvr": "This ZooKeeper instance is not currently serving requests\n"}
    found = examined(world, "-C", stand(words), code=1)
    assert found["host"]["mark"] == "failed" and "majority" in found["host"]["advice"]


def test_different_versions(world, stand):
    hosts = [stand(leader(size=2, synced=1)), stand({"srvr": srvr("follower", version="3.7.1-x")})]
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
def test_servers_that_do_not_belong_together(world, stand, words):
    found = examined(world, "-C", ",".join(stand(w) for w in words), code=1)
    assert found["ensemble"]["mark"] == "failed"
    assert "do not exclude clients" in found["ensemble"]["advice"]


def test_two_servers_that_do_not_say_who_they_are(world, stand):
    # They may be one by two names.
    hosts = [stand({"srvr": srvr("standalone")}) for _ in range(2)]
    assert examined(world, "-C", ",".join(hosts))["ensemble"]["mark"] == "warning"


def test_another_version_of_ours(world, stand):
    words = {"srvr": srvr("standalone", version="3.8.0-conclave-9.9.9")}
    found = examined(world, "-C", stand(words))
    assert found["version"]["mark"] == "warning" and "9.9.9" in found["version"]["text"]


def test_full_disk(world, stand):
    words = {"srvr": srvr("standalone"), "mntr": figures(conclave_disk_full=1)}
    found = examined(world, "-C", stand(words), code=1)
    assert found["disk"]["mark"] == "failed" and "free disk space" in found["disk"]["advice"]


def test_a_loaded_server(world, stand):
    words = {"srvr": srvr("standalone"), "mntr": figures(
        zk_open_file_descriptor_count=900, zk_max_file_descriptor_count=1000)}
    found = examined(world, "-C", stand(words))
    assert found["load"]["mark"] == "warning" and "900 of at most 1000" in found["load"]["text"]


@pytest.mark.parametrize("later, said", [(-90_500, "1m30s behind"), (7_200_500, "2h00m ahead")])
def test_clocks_differ(world, stand, later, said):
    found = examined(world, "-C", stand({}, later=later))
    assert found["clock"]["mark"] == "warning" and said in found["clock"]["text"]


@pytest.mark.parametrize("asked, mark, part", [
    ("10s", "ok", "granted 10s"),
    ("1s", "warning", "loses all locks"),
    ("3m", "warning", "stay held"),
])
def test_sense_of_the_timeout(world, asked, mark, part):
    _, address = world.serve("--min-session-timeout", "100ms", "--max-session-timeout", "10m")
    found = examined(world, "-C", address, "--session-timeout", asked)["timeout"]
    assert found["mark"] == mark and part in found["text"]


def test_a_timeout_that_was_not_asked_for(world):
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
    # Whoever created it is the only one who can use it: others have no locks there.
    world.ok("znode", "create", "/conclave", "--auth-file", "auth")
    found = examined(world, "--auth-file", "auth", code=1)
    assert found["access"]["mark"] == "failed" and "other users cannot" in found["access"]["text"]
    assert "--set world:anyone:cdrwa" in found["access"]["advice"]
    found = examined(world, code=1)
    assert found["write"]["mark"] == "failed" and "clock" not in found
    assert "--set world:anyone:cdrwa" in found["write"]["advice"]
    # An ACL that somebody has set is a decision.
    world.ok("znode", "acl", "/conclave", "--auth-file", "auth", "--set", "auth::cdrwa")
    assert examined(world, "--auth-file", "auth")["access"]["mark"] == "ok"
    world.ok("znode", "acl", "/conclave", "--auth-file", "auth", "--set", "world:anyone:cdrwa")
    assert examined(world)["write"]["mark"] == "ok"


def test_a_chroot_that_is_missing(world):
    _, address = world.serve()
    found = examined(world, "-C", address + "/app", code=1)
    assert found["chroot"]["mark"] == "failed" and "/app" in found["chroot"]["text"]
    world.ok("znode", "create", "-C", address, "/app")
    assert examined(world, "-C", address + "/app")["write"]["mark"] == "ok"


@pytest.fixture
def secure(world):
    """A server with TLS: its address, by name; certificate for localhost in `cert`, for 5 days."""
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
    # It has five days left.
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
