package conclave.interop.locks;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.leader.LeaderElectionSupport;
import org.apache.zookeeper.recipes.leader.LeaderElectionSupport.EventType;

/** The election that comes with ZooKeeper, which notifies a listener when it leads. */
final class ZooKeeperElection implements PeerLock {
    private final BlockingQueue<EventType> outcome = new LinkedBlockingQueue<>();
    private final ZooKeeper client;
    private final String path;
    private final String id;
    private LeaderElectionSupport election;

    ZooKeeperElection(String connect, String path, int sessionMs, String id) throws IOException {
        client = new ZooKeeper(connect, sessionMs, event -> {});
        this.path = path;
        this.id = id;
    }

    private LeaderElectionSupport member() {
        LeaderElectionSupport made = new LeaderElectionSupport();
        made.setZooKeeper(client);
        made.setRootNodeName(path);
        made.setHostName(id);
        return made;
    }

    @Override
    public String mode() {
        return "exclusive";
    }

    /** Campaigns again if a candidate leaves after it was listed and before it is read. */
    @Override
    public void acquire() throws Exception {
        for (;;) {
            election = member();
            election.addListener(event -> {
                if (event == EventType.ELECTED_COMPLETE || event == EventType.FAILED) {
                    outcome.add(event);
                }
            });
            election.start();
            if (outcome.take() == EventType.ELECTED_COMPLETE) return;
            election.stop();
        }
    }

    @Override
    public void release() {
        election.stop();
    }

    /** It shows only the leader. */
    @Override
    public List<String> candidates() throws Exception {
        return Collections.singletonList(member().getLeaderHostName());
    }

    @Override
    public void close() throws InterruptedException {
        client.close();
    }
}
