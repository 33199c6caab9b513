"""Starts `conclave ui` in tests, and sends HTTP requests to it without a library that would correct them."""

import json
import re
import socket
import time

from conftest import TIMEOUT


class Reply:
    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0] else None
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()

    @property
    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)


class Events:
    """An event stream. Each event is (name, data)."""

    def __init__(self, connection):
        self.connection = connection
        self.buffer = b""
        self.head = None

    def next(self):
        """The next event. Fails if the stream ends or sends no event."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            if self.head is None and b"\r\n\r\n" in self.buffer:
                head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
                self.head = Reply(head + b"\r\n\r\n")
                assert self.head.status == 200, head
            if self.head is not None and b"\n\n" in self.buffer:
                text, _, self.buffer = self.buffer.partition(b"\n\n")
                fields = dict(line.split(": ", 1) for line in text.decode().split("\n") if line and line[0] != ":")
                if "data" in fields:
                    return fields["event"], json.loads(fields["data"])
                continue
            data = self.connection.recv(1 << 16)
            assert data, "the stream has ended"
            self.buffer += data
        raise AssertionError(f"no event within {TIMEOUT} s")

    def until(self, condition, what):
        """Reads events until condition(data) is true, and returns its value."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            value = condition(self.next()[1])
            if value:
                return value
        raise AssertionError(f"timeout while waiting for: {what}")

    def close(self):
        self.connection.close()


class Page:
    """A running `conclave ui`."""

    def __init__(self, world, *args, listen="127.0.0.1:0", **rest):
        self._read(world.start_conclave("ui", "--listen", listen, *args, **rest))

    @classmethod
    def of(cls, server):
        """The page inside `conclave serve --http`, which prints its address after its first line."""
        page = cls.__new__(cls)
        page._read(server)
        return page

    def _read(self, process):
        self.process = process
        line = self.process.stdout.readline()
        found = re.fullmatch(r"conclave ui: (http://([\d.]+):(\d+)/(?:#token=(\w+))?)\n", line)
        assert found, line + (self.process.stderr.read() if not line else "")
        self.url, _, port, self.token = found.groups()
        self.port = int(port)
        self.host = f"127.0.0.1:{port}"
        self.origin = f"http://{self.host}"

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)
        return s

    def raw(self, data):
        """Sends bytes and returns everything that the server sends until it closes the connection."""
        with self.connect() as s:
            s.sendall(data)
            received = b""
            while part := s.recv(1 << 16):
                received += part
            return received

    def request(self, method, target, headers=None, body=None):
        fields = {"Host": self.host, "Connection": "close", **(headers or {})}
        data = b""
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            fields.setdefault("Content-Type", "application/json")
            fields.setdefault("Origin", self.origin)
            fields["Content-Length"] = str(len(data))
        head = f"{method} {target} HTTP/1.1\r\n" + "".join(
            f"{k}: {v}\r\n" for k, v in fields.items() if v is not None)
        return Reply(self.raw(head.encode("latin-1") + b"\r\n" + data))

    def get(self, target, headers=None):
        return self.request("GET", target, headers)

    def post(self, target, body, headers=None):
        return self.request("POST", target, headers, body)

    def events(self, query, headers=None):
        s = self.connect()
        fields = {"Host": self.host, **(headers or {})}
        s.sendall((f"GET /api/events?{query} HTTP/1.1\r\n" + "".join(
            f"{k}: {v}\r\n" for k, v in fields.items()) + "\r\n").encode())
        return Events(s)
