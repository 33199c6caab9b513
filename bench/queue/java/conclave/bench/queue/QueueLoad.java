package conclave.bench.queue;

import conclave.bench.Load;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/** Threads that fill and empty one queue, each with its own session; see queue_load.hpp. */
final class QueueLoad implements Load {
    private static final long END_MS = 3_000;

    private final CountDownLatch started = new CountDownLatch(1);
    private final List<PeerQueue> queues = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicLong sum = new AtomicLong();
    private final AtomicLong last = new AtomicLong();
    private final AtomicLong count = new AtomicLong();
    private final long items;
    private final int size;
    private volatile boolean stopped;
    private volatile long begun;

    QueueLoad(String library, String servers, String path, int producers, int consumers, long first,
            long items, int size) throws Exception {
        this.items = items;
        this.size = size;
        for (int i = 0; i < producers + consumers; ++i)
            queues.add(PeerQueue.open(library, servers, path));
        for (PeerQueue queue : queues) queue.awaitConnection();
        for (int i = 0; i < producers; ++i) {
            PeerQueue queue = queues.get(i);
            long number = first + i * items;
            threads.add(startThread(() -> produce(queue, number)));
        }
        for (PeerQueue queue : queues.subList(producers, queues.size()))
            threads.add(startThread(() -> consume(queue)));
    }

    /** The function that a thread runs after the start. */
    private interface Work {
        void run() throws Exception;
    }

    private Thread startThread(Work work) {
        Thread thread = new Thread(() -> {
            try {
                started.await();
                work.run();
            } catch (Throwable e) {
                failed(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Exits, because a round with an error cannot be used. Ignores errors of closed sessions. */
    private void failed(Throwable e) {
        if (stopped) return;
        e.printStackTrace();
        System.exit(1);
    }

    private void produce(PeerQueue queue, long first) throws Exception {
        for (long number = first; number < first + items && !stopped; ++number)
            queue.offer(text(number));
    }

    private byte[] text(long number) {
        byte[] digits = Long.toString(number).getBytes(StandardCharsets.US_ASCII);
        byte[] text = Arrays.copyOf(digits, size);
        Arrays.fill(text, digits.length, size, (byte) ' ');
        return text;
    }

    private void consume(PeerQueue queue) throws Exception {
        while (!stopped) {
            String item = new String(queue.take(), StandardCharsets.US_ASCII);
            sum.addAndGet(Long.parseLong(item.trim()));
            last.accumulateAndGet(System.nanoTime(), Math::max);
            count.incrementAndGet();
        }
    }

    @Override
    public void start() {
        begun = System.nanoTime();
        started.countDown();
    }

    @Override
    public long count() {
        return count.get();
    }

    /** Number of items, their sum, and the times of the first call and of the last item. */
    @Override
    public String stop(String argument) throws InterruptedException {
        stopped = true;
        started.countDown();
        String found = count.get() + " " + sum.get() + " " + begun + " " + last.get();
        for (Thread thread : threads) thread.interrupt();
        List<Thread> closers = new ArrayList<>();
        for (PeerQueue queue : queues) closers.add(startThread(queue::close));
        long end = System.currentTimeMillis() + END_MS;
        for (Thread thread : closers) thread.join(Math.max(1, end - System.currentTimeMillis()));
        return found;
    }
}
