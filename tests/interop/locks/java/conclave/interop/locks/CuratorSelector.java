package conclave.interop.locks;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;

/** Curator's LeaderSelector, which leads as long as takeLeadership() lasts. */
final class CuratorSelector implements PeerLock {
    private static final class Turn extends LeaderSelectorListenerAdapter {
        final CountDownLatch began = new CountDownLatch(1);
        final CountDownLatch over = new CountDownLatch(1);

        @Override
        public void takeLeadership(CuratorFramework client) throws InterruptedException {
            began.countDown();
            over.await();
        }
    }

    private final CuratorFramework client;
    private final String path;
    private final String id;
    private final List<LeaderSelector> all = new ArrayList<>();
    private Turn turn;

    CuratorSelector(String connect, String path, int sessionMs, String id) throws Exception {
        client = CuratorLock.connected(connect, sessionMs);
        this.path = path;
        this.id = id;
    }

    private LeaderSelector selector(Turn t) {
        LeaderSelector selector = new LeaderSelector(client, path, t);
        selector.setId(id);
        return selector;
    }

    @Override
    public String mode() {
        return "exclusive";
    }

    @Override
    public void acquire() throws Exception {
        turn = new Turn();
        LeaderSelector selector = selector(turn);
        all.add(selector);
        selector.start();
        turn.began.await();
    }

    @Override
    public void release() {
        turn.over.countDown(); // it resigns by itself
    }

    @Override
    public List<String> candidates() throws Exception {
        LeaderSelector asking = selector(new Turn());
        List<String> ids = new ArrayList<>();
        for (Participant each : asking.getParticipants()) ids.add(each.getId());
        String leader = asking.getLeader().getId();
        if (!leader.equals(ids.get(0))) throw new IllegalStateException(leader + " leads " + ids);
        return ids;
    }

    @Override
    public void close() throws InterruptedException {
        // Its node must be removed before its client is closed.
        while (all.stream().anyMatch(LeaderSelector::hasLeadership)) Thread.onSpinWait();
        for (LeaderSelector each : all) each.close();
        client.close();
    }
}
