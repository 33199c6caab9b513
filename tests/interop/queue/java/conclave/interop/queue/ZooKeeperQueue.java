package conclave.interop.queue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.queue.DistributedQueue;

/** The DistributedQueue that comes with ZooKeeper. */
final class ZooKeeperQueue implements PeerQueue {
    private static final int PATIENCE_MS = 20_000;

    private final ZooKeeper client;
    private final DistributedQueue queue;

    ZooKeeperQueue(String connect, String path, int sessionMs) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        client = new ZooKeeper(connect, sessionMs, event -> {
            if (event.getState() == KeeperState.SyncConnected) connected.countDown();
        });
        if (!connected.await(PATIENCE_MS, TimeUnit.MILLISECONDS))
            throw new IllegalStateException("no connection");
        queue = new DistributedQueue(client, path, null);
    }

    @Override
    public void offer(byte[] item) throws Exception {
        queue.offer(item);
    }

    @Override
    public byte[] take() throws Exception {
        return queue.take();
    }

    @Override
    public void close() throws InterruptedException {
        client.close();
    }
}
