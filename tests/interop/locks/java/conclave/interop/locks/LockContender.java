package conclave.interop.locks;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Contends for a lock with Curator or with ZooKeeper's recipes, depending on the layout.
 * lock_contender.cpp describes the command line and the history.
 */
public final class LockContender {
    private final String connect;
    private final String path;
    private final String layout;
    private final int cycles;
    private final String hold;
    private final OutputStream history;
    private final String counter;
    private final int sessionMs;

    private LockContender(String[] args) throws IOException {
        connect = args[0];
        path = args[1];
        layout = args[3];
        cycles = Integer.parseInt(args[4]);
        hold = args[5];
        history = new FileOutputStream(args[6], true);
        counter = args[7];
        sessionMs = Integer.parseInt(args[8]);
    }

    public static void main(String[] args) throws Exception {
        LockContender process = new LockContender(args);
        List<Thread> all = new ArrayList<>();
        for (String kind : args[2].split(",")) {
            int number = all.size();
            Thread thread = new Thread(() -> process.run(number, kind));
            thread.start();
            all.add(thread);
        }
        for (Thread one : all) one.join();
        System.exit(0); // clients may still have threads
    }

    private void run(int number, String kind) {
        try (PeerLock lock = PeerLock.make(layout, kind, connect, path, sessionMs, number)) {
            if (cycles == 0) {
                Files.write(Paths.get(counter), lock.candidates());
            } else {
                contend(number, lock);
            }
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    private void contend(int number, PeerLock lock) throws Exception {
        for (int i = 0; i < cycles; ++i) {
            lock.acquire();
            add("acquired " + number + " " + lock.mode() + " " + System.nanoTime() + " 0");
            use(lock.mode());
            add("released " + number + " " + System.nanoTime());
            lock.release();
            if (i % 2 == 0) stay();
        }
    }

    /** In one write and without buffering, because a reader may wait for this line. */
    private void add(String line) throws IOException {
        history.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
    }

    private void use(String mode) throws Exception {
        long count = readCounter();
        stay();
        if (mode.equals("exclusive")) {
            try (RandomAccessFile file = new RandomAccessFile(counter, "rw")) {
                file.writeBytes(Long.toString(count + 1));
            }
        } else if (mode.equals("shared") && readCounter() != count) {
            throw new IllegalStateException("a writer worked while a reader read");
        }
    }

    private long readCounter() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(counter, "r")) {
            return Long.parseLong(file.readLine().trim());
        }
    }

    private void stay() throws InterruptedException {
        if (hold.equals("forever")) Thread.currentThread().join();
        long most = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(hold));
        TimeUnit.NANOSECONDS.sleep(ThreadLocalRandom.current().nextLong(most + 1));
    }
}
