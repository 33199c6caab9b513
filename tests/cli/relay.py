"""A relay between a client and a server on TCP, which can go silent or cut the connections."""

import socket
import threading


class Relay:
    def __init__(self, to):
        host, port = to.rsplit(":", 1)
        self._to = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._flows = threading.Event()
        self._flows.set()
        self._open = True
        self._pairs = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._to) if self._open else None
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
                self._flows.wait()
                b.sendall(data)
        except OSError:
            pass
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

    def heal(self):
        self._open = True
        self._flows.set()

    def close(self):
        self.cut()
        self._flows.set()
        self._listener.close()
