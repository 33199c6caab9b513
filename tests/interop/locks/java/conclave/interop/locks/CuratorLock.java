package conclave.interop.locks;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryForever;

/** A lock of Curator. */
final class CuratorLock implements PeerLock {
    private final CuratorFramework client;
    private final String mode;
    private InterProcessLock lock;
    private InterProcessSemaphoreV2 semaphore;
    private Lease lease;

    CuratorLock(String kind, String connect, String path, int sessionMs) throws Exception {
        client = connected(connect, sessionMs);
        if (kind.equals("mutex")) {
            mode = "exclusive";
            lock = new InterProcessMutex(client, path);
        } else if (kind.equals("write")) {
            mode = "exclusive";
            lock = new InterProcessReadWriteLock(client, path).writeLock();
        } else if (kind.equals("read")) {
            mode = "shared";
            lock = new InterProcessReadWriteLock(client, path).readLock();
        } else if (kind.startsWith("semaphore:")) {
            mode = "lease";
            semaphore = new InterProcessSemaphoreV2(client, path,
                    Integer.parseInt(kind.substring("semaphore:".length())));
        } else {
            throw new IllegalArgumentException("Curator has no " + kind);
        }
    }

    static CuratorFramework connected(String connect, int sessionMs) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(connect)
                .sessionTimeoutMs(sessionMs)
                .connectionTimeoutMs(5_000)
                .retryPolicy(new RetryForever(50))
                .build();
        client.start();
        client.blockUntilConnected();
        return client;
    }

    @Override
    public String mode() {
        return mode;
    }

    @Override
    public void acquire() throws Exception {
        if (semaphore == null) {
            lock.acquire();
        } else {
            lease = semaphore.acquire();
        }
    }

    @Override
    public void release() throws Exception {
        if (semaphore == null) {
            lock.release();
        } else {
            semaphore.returnLease(lease);
        }
    }

    @Override
    public void close() {
        client.close();
    }
}
