package conclave.interop;

import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.WatcherType;

/** Watches on one connection: one-shot, persistent, recursive, and their removal. */
public final class Watches {
    private Watches() {}

    public static void oneShot(Bench b) throws Exception {
        Client c = b.connect();
        Client other = b.connect();
        EventLog data = new EventLog();
        EventLog missing = new EventLog();
        EventLog children = new EventLog();
        c.zk.getData(b.root, data, null);
        c.zk.exists(b.root + "/a", missing);
        c.zk.getChildren(b.root, children);
        other.make(b.root + "/a", "");
        other.make(b.root + "/b", "");
        other.zk.setData(b.root, null, -1);
        other.zk.setData(b.root, null, -1);
        missing.next(EventType.NodeCreated, b.root + "/a");
        children.next(EventType.NodeChildrenChanged, b.root);
        data.next(EventType.NodeDataChanged, b.root);
        c.catchUp();
        for (EventLog log : new EventLog[] {data, missing, children}) log.nothingMore();
    }

    public static void theDefaultWatcher(Bench b) throws Exception {
        Client c = b.connect();
        c.zk.exists(b.root + "/a", true);
        c.make(b.root + "/a", "");
        c.events.next(EventType.NodeCreated, b.root + "/a");
        c.zk.getData(b.root + "/a", true, null);
        c.zk.getChildren(b.root, true);
        c.zk.delete(b.root + "/a", -1);
        c.events.next(EventType.NodeDeleted, b.root + "/a")
                .next(EventType.NodeChildrenChanged, b.root);
    }

    public static void theEndOfANodeIsToldOnceToEachWatcher(Bench b) throws Exception {
        Client c = b.connect();
        EventLog watch = new EventLog();
        c.make(b.root + "/a", "");
        c.zk.getData(b.root + "/a", watch, null);
        c.zk.exists(b.root + "/a", watch);
        c.zk.getChildren(b.root + "/a", watch);
        c.zk.delete(b.root + "/a", -1);
        watch.next(EventType.NodeDeleted, b.root + "/a");
        c.catchUp();
        watch.nothingMore();
    }

    public static void persistentOnesStay(Bench b) throws Exception {
        Client c = b.connect();
        EventLog watch = new EventLog();
        String path = b.root + "/a";
        c.zk.addWatch(path, watch, AddWatchMode.PERSISTENT); // the node need not exist
        for (int round = 0; round < 2; ++round) {
            c.make(path, "");
            watch.next(EventType.NodeCreated, path);
            c.zk.setData(path, null, -1);
            c.zk.setData(path, null, -1);
            watch.next(EventType.NodeDataChanged, path).next(EventType.NodeDataChanged, path);
            c.make(path + "/child", "");
            watch.next(EventType.NodeChildrenChanged, path);
            c.zk.setData(path + "/child", null, -1);
            c.zk.delete(path + "/child", -1);
            watch.next(EventType.NodeChildrenChanged, path);
            c.zk.delete(path, -1);
            watch.next(EventType.NodeDeleted, path);
        }
        c.catchUp();
        watch.nothingMore();
    }

    public static void recursiveOnesSeeAllBelow(Bench b) throws Exception {
        Client c = b.connect();
        EventLog watch = new EventLog();
        c.zk.addWatch(b.root, watch, AddWatchMode.PERSISTENT_RECURSIVE);
        c.make(b.root + "/a", "");
        c.make(b.root + "/a/b", "");
        c.zk.setData(b.root + "/a/b", null, -1);
        c.zk.setData(b.root, null, -1);
        c.zk.delete(b.root + "/a/b", -1);
        c.zk.delete(b.root + "/a", -1);
        watch.next(EventType.NodeCreated, b.root + "/a")
                .next(EventType.NodeCreated, b.root + "/a/b")
                .next(EventType.NodeDataChanged, b.root + "/a/b")
                .next(EventType.NodeDataChanged, b.root)
                .next(EventType.NodeDeleted, b.root + "/a/b")
                .next(EventType.NodeDeleted, b.root + "/a");
        c.catchUp();
        watch.nothingMore(); // and no NodeChildrenChanged
    }

    /** With different clients: 3.8.0 confuses two kinds of watches of one client. */
    public static void persistentBesideOneShot(Bench b) throws Exception {
        Client c = b.connect();
        EventLog persistent = new EventLog();
        EventLog once = new EventLog();
        b.connect().zk.addWatch(b.root, persistent, AddWatchMode.PERSISTENT);
        c.zk.getData(b.root, once, null);
        c.zk.setData(b.root, null, -1);
        c.zk.setData(b.root, null, -1);
        once.next(EventType.NodeDataChanged, b.root);
        persistent.next(EventType.NodeDataChanged, b.root).next(EventType.NodeDataChanged, b.root);
        c.catchUp();
        once.nothingMore();
    }

    public static void addedAsynchronouslyForTheDefaultWatcher(Bench b) throws Exception {
        Client c = b.connect();
        CompletableFuture<Integer> added = new CompletableFuture<>();
        c.zk.addWatch(b.root, AddWatchMode.PERSISTENT_RECURSIVE,
                (rc, path, context) -> added.complete(rc), null);
        Expect.equal(Operations.await(added), 0);
        c.make(b.root + "/a", "");
        c.events.next(EventType.NodeCreated, b.root + "/a");
    }

    public static void removalOfOneOfEachKind(Bench b) throws Exception {
        Client c = b.connect();
        EventLog data = new EventLog();
        EventLog missing = new EventLog();
        EventLog children = new EventLog();
        EventLog persistent = new EventLog();
        c.zk.getData(b.root, data, null);
        c.zk.exists(b.root + "/a", missing);
        c.zk.getChildren(b.root, children);
        c.zk.addWatch(b.root, persistent, AddWatchMode.PERSISTENT_RECURSIVE);
        c.zk.removeWatches(b.root, data, WatcherType.Data, false);
        c.zk.removeWatches(b.root + "/a", missing, WatcherType.Data, false);
        c.zk.removeWatches(b.root, children, WatcherType.Children, false);
        c.zk.removeWatches(b.root, persistent, WatcherType.Any, false);
        data.next(EventType.DataWatchRemoved, b.root);
        missing.next(EventType.DataWatchRemoved, b.root + "/a");
        children.next(EventType.ChildWatchRemoved, b.root);
        persistent.next(EventType.PersistentWatchRemoved, b.root);
        c.make(b.root + "/a", "");
        c.zk.setData(b.root, null, -1);
        c.catchUp();
        for (EventLog log : new EventLog[] {data, missing, children, persistent}) log.nothingMore();
        Expect.fails(Code.NOWATCHER,
                () -> c.zk.removeWatches(b.root, data, WatcherType.Data, false));
    }

    public static void theOthersOfTheSameNodeStay(Bench b) throws Exception {
        Client c = b.connect();
        EventLog first = new EventLog();
        EventLog second = new EventLog();
        c.zk.getData(b.root, first, null);
        c.zk.getData(b.root, second, null);
        c.zk.removeWatches(b.root, first, WatcherType.Data, false);
        c.zk.setData(b.root, null, -1);
        second.next(EventType.NodeDataChanged, b.root);
        first.next(EventType.DataWatchRemoved, b.root);
        c.catchUp();
        first.nothingMore();
    }

    public static void removalOfAll(Bench b) throws Exception {
        Client c = b.connect();
        EventLog data = new EventLog();
        EventLog children = new EventLog();
        EventLog persistent = new EventLog();
        c.zk.getData(b.root, data, null);
        c.zk.getChildren(b.root, children);
        c.zk.addWatch(b.root, persistent, AddWatchMode.PERSISTENT);
        CompletableFuture<Integer> removed = new CompletableFuture<>();
        c.zk.removeAllWatches(b.root, WatcherType.Any, false,
                (rc, path, context) -> removed.complete(rc), null);
        Expect.equal(Operations.await(removed), 0);
        c.make(b.root + "/a", "");
        c.zk.setData(b.root, null, -1);
        c.catchUp();
        data.next(EventType.DataWatchRemoved, b.root).nothingMore();
        children.next(EventType.ChildWatchRemoved, b.root).nothingMore();
        persistent.next(EventType.PersistentWatchRemoved, b.root).nothingMore();
        Expect.fails(Code.NOWATCHER, () -> c.zk.removeAllWatches(b.root, WatcherType.Any, false));
    }
}
