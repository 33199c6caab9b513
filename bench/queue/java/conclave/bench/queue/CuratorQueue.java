package conclave.bench.queue;

import conclave.bench.Load;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's SimpleDistributedQueue. */
final class CuratorQueue implements PeerQueue {
    private final CuratorFramework client;
    private final SimpleDistributedQueue queue;

    CuratorQueue(String servers, String path) {
        client = CuratorFrameworkFactory.newClient(servers, Load.SESSION_MS, Load.CONNECT_MS,
                new ExponentialBackoffRetry(100, 3));
        client.start();
        queue = new SimpleDistributedQueue(client, path);
    }

    @Override
    public void awaitConnection() throws InterruptedException {
        if (!client.blockUntilConnected(Load.CONNECT_MS, TimeUnit.MILLISECONDS))
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
    public void close() {
        client.close();
    }
}
