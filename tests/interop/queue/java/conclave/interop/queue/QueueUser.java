package conclave.interop.queue;

import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Uses a queue with Curator or with ZooKeeper's recipes; queue_user.cpp describes the command line
 * and the history.
 */
public final class QueueUser {
    private final OutputStream history;
    private final long paceNs;

    private QueueUser(String history, long paceMs) throws IOException {
        this.history = new FileOutputStream(history, true);
        paceNs = TimeUnit.MILLISECONDS.toNanos(paceMs);
    }

    public static void main(String[] args) throws Exception {
        QueueUser process = new QueueUser(args[6], Long.parseLong(args[4]));
        List<Thread> all = new ArrayList<>();
        for (String role : args[3].split(",")) {
            PeerQueue queue =
                    PeerQueue.make(args[2], args[0], args[1], Integer.parseInt(args[7]));
            all.add(new Thread(() -> process.run(role.split(":"), queue)));
        }
        try (InputStream gate = new FileInputStream(args[5])) { // opened before it is closed
            process.add("ready");
            gate.read(); // returns when the pipe is closed
        }
        for (Thread one : all) one.start();
        for (Thread one : all) one.join();
        System.exit(0); // clients may still have threads
    }

    private void run(String[] role, PeerQueue queue) {
        try (queue) {
            if (role[0].equals("produce")) {
                produce(queue, role[1], Integer.parseInt(role[2]));
            } else if (role[0].equals("consume")) {
                consume(queue);
            } else {
                throw new IllegalArgumentException("no role " + role[0]);
            }
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    private void produce(PeerQueue queue, String name, int count) throws Exception {
        for (int i = 0; i < count; ++i) {
            String item = name + "-" + i;
            queue.offer(item.getBytes(StandardCharsets.US_ASCII));
            add("pushed " + item);
            stayAway();
        }
    }

    private void consume(PeerQueue queue) throws Exception {
        for (String item = ""; !item.equals("end");) {
            item = new String(queue.take(), StandardCharsets.US_ASCII);
            add("popped " + item);
            stayAway();
        }
    }

    /** In one write and without buffering, because a reader may wait for this line. */
    private void add(String line) throws IOException {
        history.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
    }

    private void stayAway() throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(ThreadLocalRandom.current().nextLong(paceNs + 1));
    }
}
