package conclave.bench.lock;

import conclave.bench.Load;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's InterProcessMutex. */
final class CuratorSession implements PeerSession {
    private final CuratorFramework client;

    CuratorSession(String servers) {
        client = CuratorFrameworkFactory.newClient(servers, Load.SESSION_MS, Load.CONNECT_MS,
                new ExponentialBackoffRetry(100, 3));
        client.start();
    }

    @Override
    public void awaitConnection() throws InterruptedException {
        if (!client.blockUntilConnected(Load.CONNECT_MS, TimeUnit.MILLISECONDS))
            throw new IllegalStateException("no connection");
    }

    @Override
    public Lock lock(String path) {
        InterProcessMutex mutex = new InterProcessMutex(client, path);
        return new Lock() {
            @Override
            public void acquire() throws Exception {
                mutex.acquire();
            }

            @Override
            public void release() throws Exception {
                mutex.release();
            }
        };
    }

    @Override
    public void close() {
        client.close();
    }
}
