package conclave.interop;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The server under test in a temporary folder: Apache ZooKeeper, or with
 * {@code CONCLAVE_TEST_SERVER=embedded} the program that {@code CONCLAVE_BINARY} names. Sessions
 * last 400 ms at least and expire in steps of 100 ms, containers and TTL nodes are checked every
 * 100 ms, and the password of super is "test".
 *
 * <p>The constructor returns when the server answers. It is stopped with this object. If this
 * process is killed, the kernel kills the server.
 */
final class TestServer implements AutoCloseable {
    private static final boolean EMBEDDED = "embedded".equals(System.getenv("CONCLAVE_TEST_SERVER"));
    private static final long START_LIMIT_MS = 60_000;
    private static final int PORT_ATTEMPTS = 5;

    private static final Map<String, String> PROPERTIES = Map.of(
            "extendedTypesEnabled", "true", // TTL nodes
            "forceSync", "no",
            "znode.container.checkIntervalMs", "100",
            "DigestAuthenticationProvider.superDigest", "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");

    // The kernel kills a child when the thread that started it ends, so this thread does not end.
    private final ExecutorService launcher = Executors.newSingleThreadExecutor(work -> {
        Thread thread = new Thread(work, "launcher");
        thread.setDaemon(true);
        return thread;
    });
    private final Path folder = Files.createTempDirectory("conclave_interop_");
    private final int port;
    private Process process;

    TestServer() throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(this::close));
        for (int attempt = 1;; ++attempt) {
            int candidate = freePort();
            writeConfiguration(candidate);
            if (start(candidate)) {
                port = candidate;
                return;
            }
            if (attempt == PORT_ATTEMPTS) throw new IOException("no server: " + log());
        }
    }

    int port() {
        return port;
    }

    String connectString() {
        return "127.0.0.1:" + port;
    }

    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    void stopGracefully() throws InterruptedException {
        process.destroy();
        Expect.that(process.waitFor(20, TimeUnit.SECONDS), "the server does not stop on SIGTERM");
    }

    void startAgain() throws Exception {
        if (!start(port)) throw new IOException("the server does not start again: " + log());
    }

    @Override
    public void close() {
        try {
            if (process != null) process.destroyForcibly().waitFor();
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList())
                    Files.deleteIfExists(file);
            }
        } catch (IOException | InterruptedException e) {
            // files that cannot be removed are left
        }
    }

    /** Waits until it serves. Returns false if it exits, for example because the port is in use. */
    private boolean start(int candidate) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(command())
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()));
        process = launcher.submit(builder::start).get();
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(START_LIMIT_MS);
        while (!ask(candidate, "srvr").contains("Mode: ")
                || !ask(candidate, "conf").contains("dataDir=" + folder.resolve("data"))) {
            if (!process.isAlive()) return false;
            if (System.nanoTime() > end) throw new IOException("no answer: " + log());
            Thread.sleep(10);
        }
        return true;
    }

    private List<String> command() {
        List<String> command = new ArrayList<>(List.of("setpriv", "--pdeathsig", "KILL"));
        String configuration = folder.resolve("zoo.cfg").toString();
        if (EMBEDDED) {
            command.addAll(List.of(System.getenv("CONCLAVE_BINARY"), "serve", "--config", configuration));
            return command;
        }
        command.addAll(List.of("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-XX:-UsePerfData"));
        PROPERTIES.forEach((name, value) -> command.add(
                "-D" + (name.startsWith("znode.") ? "" : "zookeeper.") + name + "=" + value));
        command.addAll(List.of("-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
                "org.apache.zookeeper.server.quorum.QuorumPeerMain", configuration));
        return command;
    }

    private void writeConfiguration(int candidate) throws IOException {
        Map<String, String> lines = new TreeMap<>(Map.of(
                "dataDir", folder.resolve("data").toString(),
                "clientPort", String.valueOf(candidate),
                "clientPortAddress", "127.0.0.1",
                "tickTime", "100",
                "minSessionTimeout", "400",
                "maxSessionTimeout", "60000",
                "maxClientCnxns", "0",
                "admin.enableServer", "false",
                "4lw.commands.whitelist", "*",
                "preAllocSize", "64"));
        lines.put("reconfigEnabled", "true"); // otherwise Apache refuses reconfig
        if (EMBEDDED) lines.putAll(PROPERTIES); // it has no system properties
        List<String> text = new ArrayList<>();
        lines.forEach((name, value) -> text.add(name + "=" + value));
        Files.createDirectories(folder.resolve("data"));
        Files.write(folder.resolve("zoo.cfg"), text);
    }

    private String log() throws IOException {
        String text = Files.readString(folder.resolve("log"));
        return text.substring(Math.max(0, text.length() - 4000));
    }

    private static String ask(int port, String word) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 200);
            socket.setSoTimeout(200); // during its start, it may never answer
            socket.getOutputStream().write(word.getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return "";
        }
    }

    /** Below the ports that the kernel uses for outgoing connections. */
    private static int freePort() {
        Random random = new Random();
        for (;;) {
            int port = 12_000 + random.nextInt(20_000);
            try (ServerSocket socket = new ServerSocket()) {
                socket.setReuseAddress(false);
                socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
                return port;
            } catch (IOException e) {
                // in use
            }
        }
    }
}
