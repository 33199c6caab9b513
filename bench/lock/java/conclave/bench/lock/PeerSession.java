package conclave.bench.lock;

/** A client of a library, and its locks. */
interface PeerSession {
    /** A lock, used by one thread. */
    interface Lock {
        void acquire() throws Exception;

        void release() throws Exception;
    }

    void awaitConnection() throws Exception;

    Lock lock(String path) throws Exception;

    void close() throws Exception;

    /** Starts to connect. */
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
