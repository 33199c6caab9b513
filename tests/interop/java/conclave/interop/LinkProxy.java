package conclave.interop;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashSet;
import java.util.Set;

/** A TCP proxy on the loopback address whose connections can be closed. */
final class LinkProxy implements AutoCloseable {
    private final ServerSocket listener;
    private final int upstreamPort;
    private final Set<Socket> sockets = new HashSet<>();
    private boolean refusing;

    LinkProxy(int upstreamPort) throws IOException {
        this.upstreamPort = upstreamPort;
        listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        start(this::accept);
    }

    String connectString() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    /** Closes the current connections. New ones are accepted. */
    synchronized void drop() {
        sockets.forEach(LinkProxy::close);
        sockets.clear();
    }

    /** Closes the current connections, and new ones at once, until {@link #heal}. */
    synchronized void disconnect() {
        refusing = true;
        drop();
    }

    synchronized void heal() {
        refusing = false;
    }

    @Override
    public synchronized void close() throws IOException {
        listener.close();
        disconnect();
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                link(listener.accept());
            } catch (IOException e) {
                // closed, or the server is down; the client tries again
            }
        }
    }

    private synchronized void link(Socket client) throws IOException {
        if (refusing) {
            close(client);
            return;
        }
        Socket server;
        try {
            server = new Socket(InetAddress.getLoopbackAddress(), upstreamPort);
        } catch (IOException e) {
            close(client);
            throw e;
        }
        for (Socket socket : new Socket[] {client, server}) {
            socket.setTcpNoDelay(true);
            sockets.add(socket);
        }
        start(() -> pump(client, server));
        start(() -> pump(server, client));
    }

    private void pump(Socket from, Socket to) {
        byte[] buffer = new byte[65536];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int n; (n = in.read(buffer)) > 0;) out.write(buffer, 0, n);
        } catch (IOException e) {
            // ends the connection, like the end of the stream
        }
        synchronized (this) {
            close(from);
            close(to);
            sockets.remove(from);
            sockets.remove(to);
        }
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // closed in any case
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }
}
