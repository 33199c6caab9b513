"""A relay between a client and a server on TCP or on Unix sockets, which can be slow, go silent or
cut the connections."""

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
        """To unix:/path it needs a path to listen at, too. Whatever passes takes delay seconds."""
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
        self._flows = threading.Event()
        self._flows.set()
        self._open = True
        self._tells = True
        self._pairs = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = self._connect() if self._open else None
            except OSError:
                server = None
            if server is None:
                client.close()
                continue
            self._pairs.append((client, server))
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(a, b), daemon=True).start()

    def _pump(self, a, b):
        try:
            while data := a.recv(65536):
                time.sleep(self._delay)
                self._flows.wait()
                b.sendall(data)
        except OSError:
            pass
        if not self._tells:
            return
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def silence(self):
        """Nothing passes; the connections stay open."""
        self._flows.clear()

    def cut(self):
        """Closes the connections, and refuses new ones."""
        self._open = False
        for pair in self._pairs:
            for s in pair:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self._pairs = []

    def tell_nobody(self):
        """From now on the end of one side does not end the other."""
        self._tells = False

    def heal(self):
        self._open = True
        self._flows.set()

    def close(self):
        self.cut()
        self._flows.set()
        self._listener.close()


if __name__ == "__main__":  # in a process of its own: TO AT
    relay = Relay(sys.argv[1], at=sys.argv[2])
    print("ready", flush=True)
    signal.pause()
