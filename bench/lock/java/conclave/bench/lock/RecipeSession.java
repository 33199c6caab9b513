package conclave.bench.lock;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/** The WriteLock that comes with ZooKeeper. It knows its node by the session: one lock for each. */
final class RecipeSession implements PeerSession {
    private final CountDownLatch connected = new CountDownLatch(1);
    private final ZooKeeper client;

    RecipeSession(String servers) throws Exception {
        client = new ZooKeeper(servers, SESSION_MS, event -> {
            if (event.getState() == KeeperState.SyncConnected) connected.countDown();
        });
    }

    @Override
    public void awaitConnection() throws InterruptedException {
        if (!connected.await(PATIENCE_MS, TimeUnit.MILLISECONDS))
            throw new IllegalStateException("no connection");
    }

    @Override
    public PeerLock lock(String path) {
        return new Lock(new WriteLock(client, path, Ids.OPEN_ACL_UNSAFE));
    }

    @Override
    public void close() throws InterruptedException {
        client.close();
    }

    private static final class Lock implements PeerLock, LockListener {
        /**
         * It sleeps for good if the contender before it leaves between being seen in the line and
         * being watched, so it has to be woken.
         */
        private static final long WAKE_MS = 250;

        private final Semaphore acquired = new Semaphore(0);
        private final WriteLock lock;

        Lock(WriteLock lock) {
            this.lock = lock;
            lock.setLockListener(this);
        }

        @Override
        public void acquire() throws Exception {
            acquired.drainPermits(); // woken by us and by the event, it tells twice
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
    }
}
