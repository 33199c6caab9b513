package conclave.interop.locks;

import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.Participant;

/** Curator's LeaderLatch, which leads until it is closed. */
final class CuratorLatch implements PeerLock {
    private final CuratorFramework client;
    private final String path;
    private final String id;
    private LeaderLatch latch;

    CuratorLatch(String connect, String path, int sessionMs, String id) throws Exception {
        client = CuratorLock.connected(connect, sessionMs);
        this.path = path;
        this.id = id;
    }

    @Override
    public String mode() {
        return "exclusive";
    }

    @Override
    public void acquire() throws Exception {
        latch = new LeaderLatch(client, path, id);
        latch.start();
        latch.await();
    }

    @Override
    public void release() throws Exception {
        latch.close();
    }

    @Override
    public List<String> candidates() throws Exception {
        try (LeaderLatch asking = new LeaderLatch(client, path, "asks")) {
            asking.start();
            List<String> ids = new ArrayList<>();
            for (Participant each : asking.getParticipants()) ids.add(each.getId());
            String leader = asking.getLeader().getId();
            if (!leader.equals(ids.get(0))) throw new IllegalStateException(leader + " leads " + ids);
            ids.remove("asks"); // if it is listed already
            return ids;
        }
    }

    @Override
    public void close() {
        client.close();
    }
}
