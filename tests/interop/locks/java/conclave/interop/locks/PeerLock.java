package conclave.interop.locks;

/** What the locks of these libraries have in common. Each has a client of its own. */
interface PeerLock extends AutoCloseable {
    /** exclusive, shared or lease */
    String mode();

    void acquire() throws Exception;

    void release() throws Exception;

    static PeerLock make(String layout, String kind, String connect, String path, int sessionMs)
            throws Exception {
        switch (layout) {
            case "curator":
                return new CuratorLock(kind, connect, path, sessionMs);
            case "zookeeper":
                if (kind.equals("mutex")) return new ZooKeeperWriteLock(connect, path, sessionMs);
                throw new IllegalArgumentException("ZooKeeper's recipes have no " + kind);
            default:
                throw new IllegalArgumentException("no library for the layout " + layout);
        }
    }
}
