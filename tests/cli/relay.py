"""A relay between a client and a server, on TCP or Unix sockets. It can delay data, stop
forwarding, or close the connections."""

import signal
import socket
import sys
import threading
import time


def _connect_unix(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    return s


class Relay:
    def __init__(self, to, at=None, delay=0):
        """For a server at unix:/path, `at` is the path to listen at. Delays all data by `delay`
        seconds."""
        if at is None:
            host, port = to.rsplit(":", 1)
            self._connect = lambda: socket.create_connection((host, int(port)))
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        else:
            self._connect = lambda: _connect_unix(to.removeprefix("unix:"))
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(at)
            self._listener.listen()
            self.address = "unix:" + at
        self._delay = delay
        self._forwarding = threading.Event()
        self._forwarding.set()
        self._accepting = True
        self._forwards_close = True
        self._pairs = []
        self.last_reply = 0.0  # time.monotonic() when data of the server was last forwarded
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = self._connect() if self._accepting else None
            except OSError:
                server = None
            if server is None:
                client.close()
                continue
            self._pairs.append((client, server))
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(a, b, a is server), daemon=True).start()

    def _pump(self, a, b, from_server):
        try:
            while data := a.recv(65536):
                time.sleep(self._delay)
                self._forwarding.wait()
                b.sendall(data)
                if from_server:
                    self.last_reply = time.monotonic()
        except OSError:
            pass
        if not self._forwards_close:
            return
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def silence(self):
        """Stops forwarding. The connections stay open."""
        self._forwarding.clear()

    def disconnect(self):
        """Closes all connections and refuses new ones."""
        self._accepting = False
        for pair in self._pairs:
            for s in pair:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self._pairs = []

    def keep_half_open(self):
        """From now on, if one side closes its connection, the other side stays open."""
        self._forwards_close = False

    def restore(self):
        self._accepting = True
        self._forwarding.set()

    def close(self):
        self.disconnect()
        self._forwarding.set()
        self._listener.close()


if __name__ == "__main__":  # in a separate process; arguments: TO AT
    relay = Relay(sys.argv[1], at=sys.argv[2])
    print("ready", flush=True)
    signal.pause()
