package conclave.bench.growth;

import conclave.bench.Load;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.data.Stat;

/** The workloads of bench/growth/workloads.hpp that Curator has, with n threads where calls block. */
final class GrowthLoad implements Load {
    private static final String PATH = "/growth";
    private static final int THREADS = 64;
    private static final int STACK_BYTES = 256 * 1024;

    private interface Task {
        void run() throws Exception;
    }

    private final CuratorFramework client;
    private final int n;
    private final AtomicLong count = new AtomicLong();
    private final Task task;

    GrowthLoad(String workload, String servers, int n) throws Exception {
        this.n = n;
        client = CuratorFrameworkFactory.newClient(servers, SESSION_MS, CONNECT_MS,
                new ExponentialBackoffRetry(100, 3));
        client.start();
        if (!client.blockUntilConnected(CONNECT_MS, TimeUnit.MILLISECONDS))
            throw new IllegalStateException("no connection");
        task = taskOf(workload);
    }

    @Override
    public void start() {
        startThread(task);
    }

    @Override
    public long count() {
        return count.get();
    }

    @Override
    public String stop(String argument) {
        return ""; // the benchmark ends the process
    }

    private Task taskOf(String workload) {
        switch (workload) {
            case "locks-held":
                return this::holdLocks;
            case "locks-waited-for":
                return () -> handOff(mutex(), this::mutex);
            case "writers":
                return () -> handOff(writer(), this::writer);
            case "readers":
                return () -> handOff(writer(), this::reader);
            case "candidates":
                return this::lead;
            case "queue-items":
                return this::pushAndPop;
            default:
                throw new IllegalArgumentException("no workload " + workload);
        }
    }

    private InterProcessLock mutex() {
        return new InterProcessMutex(client, PATH);
    }

    private InterProcessLock writer() {
        return new InterProcessReadWriteLock(client, PATH).writeLock();
    }

    private InterProcessLock reader() {
        return new InterProcessReadWriteLock(client, PATH).readLock();
    }

    /** Each thread acquires its share, waits for the other threads, and releases its share. */
    private void holdLocks() {
        CyclicBarrier allHeld = new CyclicBarrier(THREADS);
        for (int t = 0; t < THREADS; ++t) {
            int first = t;
            startThread(() -> {
                List<InterProcessLock> mine = new ArrayList<>();
                for (int i = first; i < n; i += THREADS) {
                    mine.add(new InterProcessMutex(client, PATH + "/n" + i));
                    mine.get(mine.size() - 1).acquire();
                }
                allHeld.await();
                for (InterProcessLock lock : mine) {
                    lock.release();
                    count.incrementAndGet();
                }
            });
        }
    }

    private interface LockMaker {
        InterProcessLock make();
    }

    private void handOff(InterProcessLock first, LockMaker maker) throws Exception {
        first.acquire();
        for (int i = 0; i < n; ++i)
            startThread(() -> {
                InterProcessLock mine = maker.make();
                mine.acquire();
                mine.release();
                count.incrementAndGet();
            });
        awaitChildren(n + 1);
        first.release();
    }

    private void lead() throws Exception {
        LeaderLatch first = new LeaderLatch(client, PATH);
        first.start();
        first.await();
        for (int i = 0; i < n; ++i) {
            LeaderLatch latch = new LeaderLatch(client, PATH);
            latch.addListener(new LeaderLatchListener() {
                @Override
                public void isLeader() {
                    count.incrementAndGet();
                    startThread(latch::close);
                }

                @Override
                public void notLeader() {}
            });
            latch.start();
        }
        awaitChildren(n + 1);
        first.close();
    }

    private void pushAndPop() throws Exception {
        SimpleDistributedQueue queue = new SimpleDistributedQueue(client, PATH);
        CyclicBarrier allPushed = new CyclicBarrier(THREADS);
        byte[] data = new byte[100];
        for (int t = 0; t < THREADS; ++t) {
            int first = t;
            startThread(() -> {
                for (int i = first; i < n; i += THREADS) queue.offer(data);
                allPushed.await();
                if (first != 0) return; // one consumer
                for (int i = 0; i < n; ++i) {
                    queue.remove();
                    count.incrementAndGet();
                }
            });
        }
    }

    private void awaitChildren(int wanted) throws Exception {
        for (;;) {
            Stat stat = client.checkExists().forPath(PATH);
            if (stat != null && stat.getNumChildren() >= wanted) return;
            Thread.sleep(50);
        }
    }

    /** A round with an error in it is no measurement. */
    private static void startThread(Task task) {
        Thread thread = new Thread(null, () -> {
            try {
                task.run();
            } catch (Exception e) {
                e.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        }, "load", STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
    }
}
