package conclave.interop;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicInteger;

/** The environment of one check: the server, a new node, and objects that it closes. */
public final class Bench implements AutoCloseable {
    private static final AtomicInteger COUNT = new AtomicInteger();

    final TestServer server;
    final String root = "/check-" + COUNT.incrementAndGet();
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    Bench(TestServer server) throws Exception {
        this.server = server;
        Client maker = connect();
        maker.make(root, "");
    }

    <T extends AutoCloseable> T keep(T closeable) {
        synchronized (opened) {
            opened.push(closeable);
        }
        return closeable;
    }

    Client connect() throws Exception {
        return connect(server.connectString(), Client.TIMEOUT_MS);
    }

    Client connect(String connectString) throws Exception {
        return connect(connectString, Client.TIMEOUT_MS);
    }

    Client connect(String connectString, int timeoutMs) throws Exception {
        return keep(new Client(connectString, timeoutMs)).connected();
    }

    LinkProxy proxy() throws Exception {
        return keep(new LinkProxy(server.port()));
    }

    @Override
    public void close() {
        for (;;) {
            AutoCloseable last;
            synchronized (opened) {
                last = opened.poll();
            }
            if (last == null) return;
            try {
                last.close();
            } catch (Exception e) {
                // The check has its result, so an error here is ignored.
            }
        }
    }
}
