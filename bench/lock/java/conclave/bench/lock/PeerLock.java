package conclave.bench.lock;

/** A lock, used by one thread. */
interface PeerLock {
    void acquire() throws Exception;

    void release() throws Exception;
}
