package conclave.bench.lock;

/** A client of a library, and its locks. */
interface PeerSession {
    int SESSION_MS = 30_000;
    int PATIENCE_MS = 20_000;

    void awaitConnection() throws Exception;

    PeerLock lock(String path) throws Exception;

    void close() throws Exception;

    /** Begins to connect. */
    static PeerSession open(String library, String servers) throws Exception {
        switch (library) {
            case "curator":
                return new CuratorSession(servers);
            case "zookeeper":
                return new RecipeSession(servers);
            default:
                throw new IllegalArgumentException("no library " + library);
        }
    }
}
