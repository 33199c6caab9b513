package conclave.interop;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;

/** A session of the official client with the events of its default watcher. */
final class Client implements AutoCloseable {
    static final int TIMEOUT_MS = 20_000;

    final EventLog events = new EventLog();
    final ZooKeeper zk;

    Client(String connectString, int timeoutMs) throws IOException {
        zk = new ZooKeeper(connectString, timeoutMs, events);
    }

    /** Continues a session. */
    Client(String connectString, long session, byte[] password) throws IOException {
        zk = new ZooKeeper(connectString, TIMEOUT_MS, events, session, password);
    }

    /** Accepts a read-only server. */
    static Client readOnly(String connectString) throws IOException {
        return new Client(connectString);
    }

    private Client(String connectString) throws IOException {
        zk = new ZooKeeper(connectString, TIMEOUT_MS, events, true);
    }

    Client connected() throws InterruptedException {
        events.state(KeeperState.SyncConnected);
        return this;
    }

    /** Creates a persistent node that is open to all clients. */
    String make(String path, String data) throws KeeperException, InterruptedException {
        return make(path, data, CreateMode.PERSISTENT);
    }

    String make(String path, String data, CreateMode mode)
            throws KeeperException, InterruptedException {
        return zk.create(path, data.getBytes(), Ids.OPEN_ACL_UNSAFE, mode);
    }

    /** Waits until all earlier events were passed to their watchers. */
    void catchUp() throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1); // counted down by the event thread
        zk.sync("/", (rc, path, context) -> done.countDown(), null);
        Expect.that(done.await(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS), "sync got no answer");
    }

    @Override
    public void close() throws InterruptedException {
        zk.close();
    }
}
