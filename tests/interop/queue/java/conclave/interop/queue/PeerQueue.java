package conclave.interop.queue;

/** The common interface of these queues. Each has its own connected client. */
interface PeerQueue extends AutoCloseable {
    void offer(byte[] item) throws Exception;

    /** Waits for an item. */
    byte[] take() throws Exception;

    static PeerQueue make(String recipe, String connect, String path, int sessionMs)
            throws Exception {
        switch (recipe) {
            case "curator":
                return new CuratorQueue(connect, path, sessionMs);
            case "zookeeper":
                return new ZooKeeperQueue(connect, path, sessionMs);
            default:
                throw new IllegalArgumentException("no library for the recipe " + recipe);
        }
    }
}
