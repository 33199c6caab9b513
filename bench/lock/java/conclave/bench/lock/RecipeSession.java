package conclave.bench.lock;

import conclave.bench.Load;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/** ZooKeeper's WriteLock. It finds its node by the session id, so each lock needs a session. */
final class RecipeSession implements PeerSession {
    private final CountDownLatch connected = new CountDownLatch(1);
    private final ZooKeeper client;

    RecipeSession(String servers) throws Exception {
        client = new ZooKeeper(servers, Load.SESSION_MS, event -> {
            if (event.getState() == KeeperState.SyncConnected) connected.countDown();
        });
    }

    @Override
    public void awaitConnection() throws InterruptedException {
        if (!connected.await(Load.CONNECT_MS, TimeUnit.MILLISECONDS))
            throw new IllegalStateException("no connection");
    }

    @Override
    public Lock lock(String path) {
        return new RecipeLock(new WriteLock(client, path, Ids.OPEN_ACL_UNSAFE));
    }

    @Override
    public void close() throws InterruptedException {
        client.close();
    }

    private static final class RecipeLock implements Lock, LockListener {
        /**
         * How often a waiter is woken. WriteLock waits forever if its predecessor releases the lock
         * after WriteLock has listed the contenders and before it sets the watch.
         */
        private static final long WAKE_MS = 250;

        private final Semaphore acquired = new Semaphore(0);
        private final WriteLock lock;

        RecipeLock(WriteLock lock) {
            this.lock = lock;
            lock.setLockListener(this);
        }

        @Override
        public void acquire() throws Exception {
            // The listener may have been called twice: for our wake-up and for the watch event.
            acquired.drainPermits();
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
