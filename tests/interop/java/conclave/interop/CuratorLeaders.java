package conclave.interop;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;

/** Curator's elections. */
public final class CuratorLeaders {
    private CuratorLeaders() {}

    private static LeaderLatch latch(Bench b, CuratorFramework curator, String id) throws Exception {
        LeaderLatch latch = b.keep(new LeaderLatch(curator, b.root + "/latch", id));
        latch.start();
        return latch;
    }

    private static boolean leads(LeaderLatch latch) throws Exception {
        return latch.await(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
    }

    public static void latchIsHandedOn(Bench b) throws Exception {
        LeaderLatch first = latch(b, Curators.connect(b), "first");
        Expect.that(leads(first), "alone it leads");
        LeaderLatch second = latch(b, Curators.connect(b), "second");
        Expect.becomes(() -> second.getParticipants().size() == 2, "two participants");
        Expect.equal(second.getLeader().getId(), "first");
        Expect.that(!second.hasLeadership(), "one leader at a time");
        first.close();
        Expect.that(leads(second), "it moves up");
        Expect.equal(second.getLeader().getId(), "second");
    }

    /** A leader that loses its connection resigns and campaigns again as the last. */
    public static void latchOfALostSessionIsHandedOn(Bench b) throws Exception {
        LinkProxy proxy = b.proxy();
        LeaderLatch first = latch(b, Curators.connect(b, proxy.connectString(), 1_000), "first");
        Expect.that(leads(first), "alone it leads");
        CountDownLatch down = new CountDownLatch(1);
        first.addListener(new LeaderLatchListener() {
            @Override
            public void isLeader() {}

            @Override
            public void notLeader() {
                down.countDown();
            }
        });
        LeaderLatch second = latch(b, Curators.connect(b), "second");
        proxy.disconnect();
        Expect.that(down.await(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS), "it steps down");
        Expect.that(leads(second), "another leads");
        proxy.heal();
        Expect.becomes(() -> second.getParticipants().size() == 2, "the first one is back");
        second.close();
        Expect.that(leads(first), "and leads again");
    }

    public static void selectorTakesTurns(Bench b) throws Exception {
        BlockingQueue<String> turns = new LinkedBlockingQueue<>();
        for (String id : new String[] {"first", "second"}) {
            LeaderSelector selector = b.keep(new LeaderSelector(Curators.connect(b),
                    b.root + "/selector", new LeaderSelectorListenerAdapter() {
                        @Override
                        public void takeLeadership(CuratorFramework client) {
                            turns.add(id);
                        }
                    }));
            selector.setId(id);
            selector.autoRequeue();
            selector.start();
        }
        int[] seen = new int[2];
        while (seen[0] < 3 || seen[1] < 3) {
            String id = turns.poll(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
            Expect.that(id != null, "nobody leads any more");
            ++seen[id.equals("first") ? 0 : 1];
        }
    }

    public static void selectorKnowsItsLeader(Bench b) throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        CountDownLatch leading = new CountDownLatch(1);
        LeaderSelector selector = b.keep(new LeaderSelector(Curators.connect(b),
                b.root + "/selector", new LeaderSelectorListenerAdapter() {
                    @Override
                    public void takeLeadership(CuratorFramework client) throws Exception {
                        leading.countDown();
                        end.await();
                    }
                }));
        selector.setId("one");
        selector.start();
        Expect.that(leading.await(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS), "it leads");
        Expect.equal(selector.getLeader().getId(), "one");
        Expect.that(selector.hasLeadership(), "it knows");
        end.countDown();
        Expect.becomes(() -> !selector.hasLeadership(), "it is over");
    }
}
