package conclave.interop;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedCountListener;
import org.apache.curator.framework.recipes.shared.SharedCountReader;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;

/** Curator's queues, counters and barriers. */
public final class CuratorQueues {
    private CuratorQueues() {}

    public static void simpleQueueKeepsItsOrder(Bench b) throws Exception {
        SimpleDistributedQueue in = new SimpleDistributedQueue(Curators.connect(b), b.root + "/q");
        SimpleDistributedQueue out = new SimpleDistributedQueue(Curators.connect(b), b.root + "/q");
        Expect.equal(out.peek(), null);
        Expect.equal(out.poll(), null);
        for (int i = 0; i < 20; ++i) in.offer(("item " + i).getBytes());
        Expect.data(out.peek(), "item 0");
        Expect.data(out.element(), "item 0");
        for (int i = 0; i < 20; ++i) Expect.data(i % 2 == 0 ? out.take() : out.remove(), "item " + i);
        Expect.equal(out.poll(50, TimeUnit.MILLISECONDS), null);
        CompletableFuture<byte[]> waiting = CompletableFuture.supplyAsync(() -> {
            try {
                return out.poll(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        in.offer("late".getBytes());
        Expect.data(waiting.get(), "late");
    }

    public static void simpleQueueGivesEachItemToOneTaker(Bench b) throws Exception {
        int count = 60;
        SimpleDistributedQueue in = new SimpleDistributedQueue(Curators.connect(b), b.root + "/q");
        for (int i = 0; i < count; ++i) in.offer(String.valueOf(i).getBytes());
        Set<String> taken = new HashSet<>();
        CountDownLatch all = new CountDownLatch(3);
        for (int taker = 0; taker < 3; ++taker) {
            SimpleDistributedQueue out =
                    new SimpleDistributedQueue(Curators.connect(b), b.root + "/q");
            new Thread(() -> {
                try {
                    for (byte[] item; (item = out.poll()) != null;) {
                        synchronized (taken) {
                            Expect.that(taken.add(new String(item)), "taken twice");
                        }
                    }
                    all.countDown();
                } catch (Exception e) {
                    e.printStackTrace(System.out);
                }
            }).start();
        }
        Expect.that(all.await(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS), "the takers end");
        Expect.equal(taken.size(), count);
    }

    public static void atomicLongCountsEveryIncrement(Bench b) throws Exception {
        List<CompletableFuture<Void>> all = new java.util.ArrayList<>();
        for (int client = 0; client < 3; ++client) {
            DistributedAtomicLong counter = new DistributedAtomicLong(Curators.connect(b),
                    b.root + "/n", new RetryNTimes(1000, 1));
            all.add(CompletableFuture.runAsync(() -> {
                try {
                    for (int i = 0; i < 20; ++i) {
                        AtomicValue<Long> value = counter.increment();
                        Expect.that(value.succeeded(), "an increment goes through");
                    }
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }));
        }
        for (CompletableFuture<Void> one : all) one.get(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
        Expect.equal(new DistributedAtomicLong(Curators.connect(b), b.root + "/n",
                new RetryNTimes(1, 1)).get().postValue(), 60L);
    }

    public static void sharedCountIsSeenByAll(Bench b) throws Exception {
        SharedCount one = b.keep(new SharedCount(Curators.connect(b), b.root + "/count", 7));
        SharedCount two = b.keep(new SharedCount(Curators.connect(b), b.root + "/count", 7));
        one.start();
        two.start();
        CompletableFuture<Integer> seen = new CompletableFuture<>();
        two.addListener(new SharedCountListener() {
            @Override
            public void countHasChanged(SharedCountReader reader, int count) {
                seen.complete(count);
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState state) {}
        });
        Expect.equal(two.getCount(), 7);
        Expect.that(one.trySetCount(one.getVersionedValue(), 8), "nobody else has changed it");
        Expect.equal(seen.get(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS), 8);
    }

    public static void barriers(Bench b) throws Exception {
        DistributedBarrier gate = new DistributedBarrier(Curators.connect(b), b.root + "/gate");
        gate.setBarrier();
        DistributedBarrier waiter = new DistributedBarrier(Curators.connect(b), b.root + "/gate");
        Expect.that(!waiter.waitOnBarrier(50, TimeUnit.MILLISECONDS), "closed");
        gate.removeBarrier();
        Expect.that(waiter.waitOnBarrier(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS), "open");

        List<CompletableFuture<Boolean>> members = new java.util.ArrayList<>();
        for (int i = 0; i < 3; ++i) {
            DistributedDoubleBarrier barrier =
                    new DistributedDoubleBarrier(Curators.connect(b), b.root + "/double", 3);
            CompletableFuture<Boolean> member = new CompletableFuture<>();
            members.add(member);
            new Thread(() -> {
                try {
                    member.complete(barrier.enter(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS)
                            && barrier.leave(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS));
                } catch (Exception e) {
                    member.completeExceptionally(e);
                }
            }).start();
        }
        for (CompletableFuture<Boolean> member : members)
            Expect.that(member.get(), "all enter and leave together");
    }
}
