package conclave.interop;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** Curator's locks. */
public final class CuratorLocks {
    private CuratorLocks() {}

    /** Runs in its own thread, because these locks belong to threads. */
    private static <T> CompletableFuture<T> elsewhere(Callable<T> work) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                result.complete(work.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return result;
    }

    private static boolean tryFor(InterProcessLock lock, long milliseconds) throws Exception {
        return lock.acquire(milliseconds, TimeUnit.MILLISECONDS);
    }

    private static boolean get(InterProcessLock lock) throws Exception {
        return tryFor(lock, Expect.PATIENCE_MS);
    }

    public static void mutexIsReentrantAndHandedOver(Bench b) throws Exception {
        CuratorFramework curator = Curators.connect(b);
        InterProcessMutex first = new InterProcessMutex(curator, b.root + "/m");
        InterProcessMutex second = new InterProcessMutex(Curators.connect(b), b.root + "/m");
        Expect.that(get(first) && get(first), "a free lock is taken, twice by the same thread");
        Expect.that(!elsewhere(() -> tryFor(second, 100)).get(), "taken twice");
        CompletableFuture<Boolean> waiter = elsewhere(() -> {
            boolean got = get(second);
            second.release();
            return got;
        });
        Expect.becomes(() -> curator.getChildren().forPath(b.root + "/m").size() == 2, "a waiter");
        first.release();
        Expect.that(!waiter.isDone(), "it is still held once");
        first.release();
        Expect.that(waiter.get(), "the waiter gets it");
    }

    public static void mutexExcludes(Bench b) throws Exception {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger turns = new AtomicInteger();
        List<CompletableFuture<Void>> all = new java.util.ArrayList<>();
        for (int client = 0; client < 4; ++client) {
            CuratorFramework curator = Curators.connect(b);
            all.add(elsewhere(() -> {
                InterProcessMutex mutex = new InterProcessMutex(curator, b.root + "/m");
                for (int i = 0; i < 25; ++i) {
                    mutex.acquire();
                    Expect.equal(inside.incrementAndGet(), 1);
                    turns.incrementAndGet();
                    inside.decrementAndGet();
                    mutex.release();
                }
                return null;
            }));
        }
        for (CompletableFuture<Void> one : all) one.get(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
        Expect.equal(turns.get(), 100);
    }

    /** The lock of a disconnected client is released only when its session ends. */
    public static void mutexOfALostSessionIsHandedOver(Bench b) throws Exception {
        LinkProxy proxy = b.proxy();
        CuratorFramework lost = Curators.connect(b, proxy.connectString(), 1_000);
        CuratorFramework next = Curators.connect(b);
        InterProcessMutex first = new InterProcessMutex(lost, b.root + "/m");
        InterProcessMutex second = new InterProcessMutex(next, b.root + "/m");
        Expect.that(get(first), "a free lock is taken");
        proxy.disconnect();
        Expect.that(!tryFor(second, 100), "the session still lives");
        Expect.that(get(second), "it has ended");
        second.release();
    }

    public static void mutexIsGivenUpOnRequest(Bench b) throws Exception {
        InterProcessMutex holder = new InterProcessMutex(Curators.connect(b), b.root + "/m");
        CountDownLatch asked = new CountDownLatch(1);
        holder.makeRevocable(lock -> asked.countDown());
        Expect.that(get(holder), "a free lock is taken");
        CuratorFramework other = Curators.connect(b);
        Collection<String> nodes = new InterProcessMutex(other, b.root + "/m").getParticipantNodes();
        Expect.equal(nodes.size(), 1);
        org.apache.curator.framework.recipes.locks.Revoker.attemptRevoke(other,
                nodes.iterator().next());
        Expect.that(asked.await(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS), "it is asked");
        holder.release();
    }

    public static void readersShareAndWritersDoNot(Bench b) throws Exception {
        InterProcessReadWriteLock one =
                new InterProcessReadWriteLock(Curators.connect(b), b.root + "/rw");
        InterProcessReadWriteLock two =
                new InterProcessReadWriteLock(Curators.connect(b), b.root + "/rw");
        Expect.that(get(one.readLock()) && get(two.readLock()), "two readers");
        Expect.that(!elsewhere(() -> tryFor(two.writeLock(), 100)).get(), "no writer beside them");
        one.readLock().release();
        two.readLock().release();
        Expect.that(get(one.writeLock()), "a writer");
        Expect.that(!elsewhere(() -> tryFor(two.readLock(), 100)).get(), "no reader beside it");
        Expect.that(get(one.readLock()), "but itself");
        one.writeLock().release();
        Expect.that(elsewhere(() -> get(two.readLock())).get(), "now it is a reader like others");
        one.readLock().release();
    }

    public static void semaphoreHasSoManyLeases(Bench b) throws Exception {
        InterProcessSemaphoreV2 one =
                new InterProcessSemaphoreV2(Curators.connect(b), b.root + "/s", 2);
        InterProcessSemaphoreV2 two =
                new InterProcessSemaphoreV2(Curators.connect(b), b.root + "/s", 2);
        Lease first = one.acquire(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
        Lease second = two.acquire(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
        Expect.that(first != null && second != null, "two leases");
        Expect.equal(two.acquire(100, TimeUnit.MILLISECONDS), null);
        CompletableFuture<Lease> waiting = elsewhere(() -> two.acquire());
        one.returnLease(first);
        Lease third = waiting.get(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
        Expect.equal(one.getParticipantNodes().size(), 2);
        two.returnAll(List.of(second, third));
    }

    public static void semaphoreMutex(Bench b) throws Exception {
        InterProcessSemaphoreMutex one =
                new InterProcessSemaphoreMutex(Curators.connect(b), b.root + "/sm");
        InterProcessSemaphoreMutex two =
                new InterProcessSemaphoreMutex(Curators.connect(b), b.root + "/sm");
        Expect.that(get(one), "a free lock is taken");
        Expect.that(!tryFor(two, 100), "taken twice");
        one.release();
        Expect.that(get(two), "it is free again");
        two.release();
    }

    public static void severalLocksAsOne(Bench b) throws Exception {
        CuratorFramework curator = Curators.connect(b);
        List<String> paths = List.of(b.root + "/l1", b.root + "/l2");
        InterProcessMultiLock both = new InterProcessMultiLock(curator, paths);
        InterProcessMutex part = new InterProcessMutex(Curators.connect(b), b.root + "/l2");
        Expect.that(get(part), "a free lock is taken");
        Expect.that(!elsewhere(() -> tryFor(both, 300)).get(), "one of them is held");
        part.release();
        Expect.that(get(both), "both are free");
        both.release();
    }
}
