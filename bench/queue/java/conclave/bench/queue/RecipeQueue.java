package conclave.bench.queue;

import conclave.bench.Load;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.queue.DistributedQueue;

/** ZooKeeper's DistributedQueue. */
final class RecipeQueue implements PeerQueue {
    private final CountDownLatch connected = new CountDownLatch(1);
    private final ZooKeeper client;
    private final DistributedQueue queue;

    RecipeQueue(String servers, String path) throws Exception {
        client = new ZooKeeper(servers, Load.SESSION_MS, event -> {
            if (event.getState() == KeeperState.SyncConnected) connected.countDown();
        });
        queue = new DistributedQueue(client, path, null);
    }

    @Override
    public void awaitConnection() throws InterruptedException {
        if (!connected.await(Load.CONNECT_MS, TimeUnit.MILLISECONDS))
            throw new IllegalStateException("no connection");
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
