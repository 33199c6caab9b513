package conclave.interop.queue;

import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's SimpleDistributedQueue. */
final class CuratorQueue implements PeerQueue {
    private static final int PATIENCE_MS = 20_000;

    private final CuratorFramework client;
    private final SimpleDistributedQueue queue;

    CuratorQueue(String connect, String path, int sessionMs) throws InterruptedException {
        client = CuratorFrameworkFactory.newClient(connect, sessionMs, PATIENCE_MS,
                new ExponentialBackoffRetry(100, 3));
        client.start();
        if (!client.blockUntilConnected(PATIENCE_MS, TimeUnit.MILLISECONDS))
            throw new IllegalStateException("no connection");
        queue = new SimpleDistributedQueue(client, path);
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
    public void close() {
        client.close();
    }
}
