package conclave.interop.locks;

import java.util.List;

/** The common interface of these locks. Each has its own client. */
interface PeerLock extends AutoCloseable {
    /** exclusive, shared or lease */
    String mode();

    void acquire() throws Exception;

    void release() throws Exception;

    /** For an election: the ids that the library shows, the leader first. */
    default List<String> candidates() throws Exception {
        throw new UnsupportedOperationException("no election");
    }

    static PeerLock make(String layout, String kind, String connect, String path, int sessionMs,
            int number) throws Exception {
        switch (layout) {
            case "curator":
                if (kind.equals("leader")) {
                    return new CuratorSelector(connect, path, sessionMs, "curator-" + number);
                }
                return new CuratorLock(kind, connect, path, sessionMs);
            case "leader_latch":
                return new CuratorLatch(connect, path, sessionMs, "curator-" + number);
            case "election":
                return new ZooKeeperElection(connect, path, sessionMs, "zookeeper-" + number);
            case "zookeeper":
                if (kind.equals("mutex")) return new ZooKeeperWriteLock(connect, path, sessionMs);
                throw new IllegalArgumentException("ZooKeeper's recipes have no " + kind);
            default:
                throw new IllegalArgumentException("no library for the layout " + layout);
        }
    }
}
