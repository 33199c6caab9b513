package conclave.interop.locks;

import java.io.IOException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/** The lock that comes with ZooKeeper, which notifies a listener when it is held. */
final class ZooKeeperWriteLock implements PeerLock, LockListener {
    /**
     * WriteLock is never granted if its predecessor leaves after it was listed and before it is
     * watched, so it has to be woken.
     */
    private static final long WAKE_MS = 250;

    private final Semaphore acquired = new Semaphore(0);
    private final ZooKeeper client;
    private final WriteLock lock;

    ZooKeeperWriteLock(String connect, String path, int sessionMs) throws IOException {
        client = new ZooKeeper(connect, sessionMs, event -> {});
        lock = new WriteLock(client, path, Ids.OPEN_ACL_UNSAFE, this);
    }

    @Override
    public String mode() {
        return "exclusive";
    }

    @Override
    public void acquire() throws Exception {
        acquired.drainPermits(); // it may notify twice: after our wake-up and after the event
        do {
            lock.lock();
        } while (!acquired.tryAcquire(WAKE_MS, TimeUnit.MILLISECONDS));
    }

    @Override
    public void release() {
        lock.unlock();
    }

    @Override
    public void lockAcquired() {
        acquired.release();
    }

    @Override
    public void lockReleased() {}

    @Override
    public void close() throws InterruptedException {
        client.close();
    }
}
