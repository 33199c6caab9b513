"""How commands find their server, and their settings: flags, environment, settings file."""

import os
import re
import socket

import pytest
from conftest import BINARY


@pytest.fixture
def config(world):
    """A function that writes the settings file of the commands."""
    world.env["CONCLAVE_CONFIG"] = world.path("config")

    def write(*lines):
        with open(world.path("config"), "w") as f:
            f.write("".join(line + "\n" for line in lines))

    write()
    return write


def write(world, name, text):
    with open(world.path(name), "w") as f:
        f.write(text)
    return world.path(name)


NOWHERE = "127.0.0.1:1"


def test_precedence_of_the_settings(world, config):
    addresses = {}
    for name in "flag", "environment", "file":
        addresses[name] = world.serve()[1]
        world.ok("znode", "create", "/name", name, "-C", addresses[name])
    world.ok("znode", "create", "/name", "local")

    def name(*args, **env):
        return world.ok("znode", "get", "/name", *args, env=env).strip()

    assert name() == "local"
    config(f"connect = {addresses['file']}")
    assert name() == "file"
    assert name(CONCLAVE_CONNECT=addresses["environment"]) == "environment"
    both = {"CONCLAVE_CONNECT": addresses["environment"]}
    assert name("-C", addresses["flag"], **both) == "flag"
    assert name("--connect", addresses["flag"], **both) == "flag"
    assert name(CONCLAVE_CONFIG="/dev/null") == "local"
    local = world.json("local", "status", "--json")["connect"]
    assert name("-C", local, **both) == "local"
    # Locks use the same server as nodes.
    world.hold("x", "-C", addresses["environment"])
    assert world.conclave("lock", "-n", "x", "--", "true", env=both).returncode == 1
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 0


def test_the_message_names_the_source_of_the_address(world, config):
    config("connect-timeout = 100ms")
    assert "--connect" in world.refused("znode", "ls", "/", "-C", NOWHERE, code=69)
    assert "CONCLAVE_CONNECT" in world.refused("znode", "ls", "/", code=69,
                                         env={"CONCLAVE_CONNECT": NOWHERE})
    config("connect-timeout = 100ms", f"connect = {NOWHERE}")
    assert world.path("config") in world.refused("znode", "ls", "/", code=69)
    assert world.local_pid() is None  # it did not start a server instead


def test_lines_of_the_file(world, config):
    _, address = world.serve()
    config("# a comment", "", "   ", f"\tconnect={address}   # of the test", "tls = no",
           "session-timeout = 7s\r")
    world.ok("znode", "ls", "/")
    config(f"connect = {NOWHERE}", f"connect = {address}")  # the last line is used
    world.ok("znode", "ls", "/")


@pytest.mark.parametrize("line", ["nonsense", "conect = x", "= x", "Connect = x", "connect: x",
                                  "[section]", "-C = x", "\u00fc = 1"])
def test_a_line_that_is_not_a_setting(world, config, line):
    config("# first", "tls = no", line)
    said = world.refused("lock", "x", "--", "echo", "ran")
    assert f"{world.path('config')}:3: " in said and "connect" in said


@pytest.mark.parametrize("line", [
    "connect = host:port", "connect = unix:relative", "session-timeout = soon",
    "session-timeout = 0", "connect-timeout = -1", "tls = maybe", "tls-any-host = 2"])
def test_an_invalid_value_is_reported_with_file_and_line(world, config, line):
    config("# first", line, "", "tls-ca = x")
    assert f"{world.path('config')}:2" in world.refused("lock", "x", "--", "echo", "ran")


OPTIONS = ["session-timeout", "connect-timeout", "auth-file", "tls-ca", "tls-cert", "tls-key",
           "tls-key-password-file"]


@pytest.mark.parametrize("name", ["connect", *OPTIONS])
def test_an_option_without_a_value_is_refused(world, name):
    """Otherwise a script variable that is not set would disable authentication or encryption."""
    for args in [f"--{name}", ""], [f"--{name}="]:
        said = world.refused("lock", *args, "x", "--", "echo", "ran")
        assert f"--{name}" in said and "empty" in said
    assert f"--{name}" in world.refused(f"--{name}=", "lock", "x", "--", "echo", "ran")
    assert world.local_pid() is None


@pytest.mark.parametrize("name", ["connect", "tls", "tls-any-host", *OPTIONS])
def test_a_setting_without_a_value_is_refused(world, config, name):
    config("# first", f"{name} =")
    said = world.refused("lock", "x", "--", "echo", "ran")
    assert f"{world.path('config')}:2: {name} has no value" in said


@pytest.mark.parametrize("name", ["CONCLAVE_CONNECT", "CONCLAVE_CONFIG", "CONCLAVE_LOCAL"])
def test_an_empty_environment_variable_is_refused(world, name):
    assert name in world.refused("lock", "x", "--", "echo", "ran", env={name: ""})


def test_a_file_that_cannot_be_read(world):
    for name in world.path("missing"), world.path("missing", "below"), "/dev/null/below":
        assert name in world.refused("lock", "x", "--", "true", env={"CONCLAVE_CONFIG": name})


def test_a_folder_instead_of_a_settings_file(world):
    world.refused("lock", "x", "--", "true", env={"CONCLAVE_CONFIG": world.folder})


def test_times_in_the_file(world, config):
    _, address = world.serve("--words", "*")
    host, port = address.rsplit(":", 1)

    def granted(*args):
        p, line = world.hold("x", "-C", address, *args)
        with socket.create_connection((host, int(port))) as s:
            s.sendall(b"cons")
            said = s.makefile().read()
        p.terminate()
        assert p.wait() == 0
        return re.findall(r"\bto=(\d+)", said)

    config("session-timeout = 7s")
    assert granted() == ["7000"]
    assert granted("--session-timeout", "8") == ["8000"]
    config(f"connect = {NOWHERE}", "connect-timeout = 0.2")
    assert " within 200ms" in world.refused("znode", "ls", "/", code=69)
    assert " within 50ms" in world.refused("znode", "ls", "/", "--connect-timeout", "50ms", code=69)


@pytest.mark.parametrize("how", ["flag", "file"])
@pytest.mark.parametrize("content", [None, "", "\n", "justtext", ":me:hunter2"], ids=str)
def test_invalid_secrets(world, config, how, content):
    name = world.path("secret") if content is None else world.secret(content, "secret")
    args = []
    if how == "flag":
        args = ["--auth-file", name]
    else:
        config(f"auth-file = {name}")
    said = world.refused("lock", *args, "x", "--", "echo", "ran")
    assert name in said
    assert content != "" or "is empty" in said
    assert "hunter2" not in said and "justtext" not in said
    assert world.local_pid() is None


def test_a_folder_instead_of_a_secret(world):
    assert world.folder in world.refused("lock", "--auth-file", world.folder, "x", "--", "true")


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o602, 0o666], ids=oct)
@pytest.mark.parametrize("how", ["auth-file", "tls-key", "tls-key-password-file"])
@pytest.mark.parametrize("where", ["flag", "file"])
def test_a_secret_that_others_can_read_is_refused(world, config, mode, how, where):
    name = world.secret("digest:me:hunter2\n")
    os.chmod(name, mode)
    if where == "file":
        config(f"{how} = {name}")
    args = [f"--{how}", name] if where == "flag" else []
    said = world.refused("lock", "-C", NOWHERE, *args, "x", "--", "echo", "ran")
    assert f"mode {mode:04o}" in said and f"chmod 600 {name}" in said and "hunter2" not in said


@pytest.mark.xfail(os.geteuid() != 0, reason="only root can change the owner of files", run=False)
def test_the_group_may_read_a_secret_of_root(world):
    name = world.secret("digest:me:hunter2\n")
    os.chmod(name, 0o640)
    world.ok("znode", "ls", "/", "--auth-file", name)
    os.chown(name, 54321, -1)
    assert "mode 0640" in world.refused("znode", "ls", "/", "--auth-file", name)
    # The mode of a pipe is not checked.
    r = world.run("bash", "-c", f"'{BINARY}' znode ls / --auth-file <(cat '{name}')")
    assert r.returncode == 0, r


@pytest.mark.parametrize("how", ["--tls-key", "--tls-key-password-file"])
def test_a_server_refuses_a_secret_that_others_can_read(world, how):
    certificate(world)
    world.secret("hunter2", "password")
    wrong = {"--tls-key": "key.pem", "--tls-key-password-file": "password"}[how]
    os.chmod(world.path(wrong), 0o644)
    said = world.refused("serve", "--durability", "none", "--no-socket", "--tls-listen",
                         "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem",
                         "--tls-key-password-file", "password")
    assert f"chmod 600 {wrong}" in said


def test_users_cannot_use_nodes_of_other_users(world, config):
    alice = world.secret("digest:alice:secret\n", "alice")
    world.secret("digest:bob:secret\n", "bob")
    wrong = world.secret("digest:alice:guess\n", "wrong")
    world.ok("znode", "create", "/hers", "data", "--acl", "auth::cdrwa", "--auth-file", alice)
    assert world.ok("znode", "get", "/hers", "--auth-file", alice).strip() == "data"
    for args in [], ["--auth-file", world.path("bob")], ["--auth-file", wrong]:
        for command in ["get", "/hers"], ["set", "/hers", "mine"], ["create", "/hers/below"]:
            said = world.refused("znode", *command, *args, code=77)
            assert "/hers" in said and "secret" not in said
    for limit in [], ["-n"], ["-w", "5"], ["-n", "-E", "3"], ["-w", "5", "-E", "0"]:
        assert "/hers" in world.refused("lock", *limit, "/hers", "--", "echo", "ran", code=77)
    for command in (["elect", "/hers", "--", "echo", "ran"], ["queue", "push", "/hers", "x"],
                    ["queue", "pop", "/hers"], ["queue", "work", "/hers", "--", "echo", "ran"]):
        assert "/hers" in world.refused(*command, code=77)
    config(f"auth-file = {alice}")
    assert world.ok("znode", "get", "/hers").strip() == "data"
    assert world.ok("lock", "/hers", "--", "echo", "ran") == "ran\n"
    # A flag takes precedence over the file.
    assert world.conclave("znode", "get", "/hers", "--auth-file",
                          world.path("bob")).returncode == 77


def test_the_first_user_with_credentials_does_not_own_the_parent_nodes(world):
    world.secret("digest:alice:secret\n", "alice")
    world.secret("digest:bob:secret\n", "bob")
    for command in (["doctor"], ["lock", "team/x", "-c", "true"], ["queue", "push", "team/q", "item"],
                    ["znode", "create", "-p", "team/deep/node"]):
        world.ok(*command, "--auth-file", "alice")
    for path in "/conclave", "/conclave/team", "/conclave/team/deep":
        assert world.ok("znode", "acl", path) == "world:anyone:cdrwa\n"
    for name, auth in ("bob", ["--auth-file", "bob"]), ("anybody", []):
        assert world.ok("lock", *auth, f"team/{name}", "--", "echo", "ran") == "ran\n"
        world.ok("queue", "push", *auth, f"team/{name}-queue", "item")
        assert world.ok("doctor", *auth).endswith("All checks passed.\n")
        world.refused("lock", *auth, "-n", "team/x", "--", "echo", "ran", code=77)
    assert world.ok("lock", "--auth-file", "alice", "team/x", "--", "echo", "ran") == "ran\n"


@pytest.mark.parametrize("command", [
    ["lock", "x", "--", "echo", "ran"], ["lock", "-n", "x", "--", "echo", "ran"],
    ["elect", "x", "--", "echo", "ran"], ["queue", "push", "q", "a"], ["queue", "pop", "q"],
    ["znode", "ls", "/"]], ids=" ".join)
def test_a_server_that_requires_authentication(world, command):
    _, address = world.serve("--require-auth", "digest")
    world.env["CONCLAVE_CONNECT"] = address
    assert "requires" in world.refused(*command, code=69)
    if command[-1] == "ran":
        auth = world.secret("digest:me:hunter2\n")
        at = command.index("x")
        assert world.ok(*command[:at], "--auth-file", auth, *command[at:]) == "ran\n"


def test_required_authentication_disables_words_that_show_paths(world):
    for words, answered in ([], "ruok srvr isro"), (["--words", "dump"], "dump"):
        _, address = world.serve("--require-auth", "digest", *words)
        host, port = address.split(":")
        for word in "ruok", "srvr", "isro", "dump", "cons", "mntr", "conf", "stat", "wchs":
            with socket.create_connection((host, int(port))) as s:
                s.sendall(word.encode())
                answer = b"".join(iter(lambda: s.recv(4096), b""))
            assert (b"not in the whitelist" in answer) == (word not in answered.split()), word


@pytest.mark.parametrize("schemes", ["ip", "digest,ip", "world"])
def test_only_schemes_with_credentials_can_be_required(world, schemes):
    said = world.refused("serve", "--durability", "none", "--no-socket", "--listen", "127.0.0.1:0",
                         "--require-auth", schemes)
    assert "the only scheme to require is digest" in said


def test_secrets_are_not_in_command_lines_and_environments(world):
    secret = world.secret("digest:me:hunter2\n", "secret")
    out = world.ok("lock", "--auth-file", secret, "x", "--", "sh", "-c",
                   "env; tr '\\0' ' ' </proc/$PPID/cmdline")
    assert "CONCLAVE_LOCK_PATH" in out and "hunter2" not in out


@pytest.mark.parametrize("flags", [
    ["--tls-ca", "missing"], ["--tls-ca", "text"], ["--tls-ca", "."],
    ["--tls-cert", "missing", "--tls-key", "missing"], ["--tls-cert", "text", "--tls-key", "text"],
    ["--tls", "--tls-cert", "cert.pem", "--tls-key", "missing"],
    ["--tls", "--tls-cert", "cert.pem", "--tls-key", "text"]], ids=" ".join)
def test_tls_files_that_cannot_be_used(world, flags):
    certificate(world)
    world.secret("no certificate\n", "text")
    _, address = world.serve()
    said = world.refused("lock", "-C", address, *flags, "x", "--", "echo", "ran")
    assert flags[-1] in said or flags[1] in said


def test_a_missing_password_file(world):
    assert "missing" in world.refused("lock", "-C", NOWHERE, "--tls", "--tls-key-password-file",
                                "missing", "x", "--", "true")


@pytest.mark.parametrize("given, missing", [
    (["tls-key"], "tls-cert"), (["tls-key-password-file"], "tls-key"),
    (["tls-cert", "tls-key-password-file"], "tls-key")], ids=str)
@pytest.mark.parametrize("where", ["flag", "file"])
def test_a_tls_setting_without_effect_is_refused(world, config, where, given, missing):
    """Otherwise the connection would be without TLS, or the server would get no certificate."""
    certificate(world)
    files = {"tls-cert": "cert.pem", "tls-key": "key.pem",
             "tls-key-password-file": world.secret("hunter2\n", "password")}
    _, address = world.serve()
    args = []
    if where == "flag":
        args = [word for name in given for word in (f"--{name}", files[name])]
    else:
        config(*(f"{name} = {world.path(files[name])}" for name in given))
    said = world.refused("lock", "-C", address, *args, "x", "--", "echo", "ran")
    first = "--" if where == "flag" else f"{world.path('config')}:{len(given)}: "
    assert f"{first}{given[-1]} has no effect without {missing}" in said
    # The other source may have the missing setting.
    if given == ["tls-key"]:
        assert "tls" in world.refused("status", "-C", address, *args, "--tls-cert", "cert.pem",
                                      "--connect-timeout", "0.1", code=69).lower()


def certificate(world):
    r = world.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                  "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                  "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out",
                  "cert.pem")
    assert r.returncode == 0, r


@pytest.fixture
def secure(world):
    """The address of a server that only accepts TLS. Its certificate is in cert.pem."""
    certificate(world)
    p = world.start_conclave("serve", "--durability", "none", "--no-socket", "--tls-listen",
                             "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
    return p.stdout.readline().split()[2].replace("tls:", "")


def test_tls_by_flags_and_by_the_file(world, config, secure):
    assert world.ok("lock", "-C", secure, "--tls-ca", "cert.pem", "x", "--", "echo", "ran") == (
        "ran\n")
    config(f"connect = {secure}", "tls = yes", f"tls-ca = {world.path('cert.pem')}")
    assert world.ok("lock", "x", "--", "echo", "ran") == "ran\n"


def test_a_server_that_is_not_trusted_is_not_used(world, secure):
    for flags in ["--tls"], []:
        world.refused("lock", "-C", secure, *flags, "--connect-timeout", "0.3", "x", "--", "echo",
                "ran", code=69)


def test_the_message_says_that_the_certificate_is_not_trusted(world, secure):
    assert "certificate" in world.refused("lock", "-C", secure, "--tls", "--connect-timeout", "1s",
                                    "x", "--", "true", code=69)


def test_tls_on_the_wrong_port(world, secure):
    said = world.refused("status", "-C", secure, "--connect-timeout", "0.3", code=69)
    assert f"{secure} uses TLS; add --tls" in said
    _, plain = world.serve()
    said = world.refused("status", "-C", plain, "--connect-timeout", "0.3", "--tls-ca", "cert.pem",
                         code=69)
    assert f"{plain} does not use TLS" in said
