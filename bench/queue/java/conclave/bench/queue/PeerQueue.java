package conclave.bench.queue;

/** A queue with its own client, used by one thread. */
interface PeerQueue {
    void awaitConnection() throws Exception;

    void offer(byte[] item) throws Exception;

    /** Waits for an item. */
    byte[] take() throws Exception;

    void close() throws Exception;

    /** Starts to connect. */
    static PeerQueue open(String library, String servers, String path) throws Exception {
        switch (library) {
            case "curator":
                return new CuratorQueue(servers, path);
            case "zookeeper":
                return new RecipeQueue(servers, path);
            default:
                throw new IllegalArgumentException("no library " + library);
        }
    }
}
