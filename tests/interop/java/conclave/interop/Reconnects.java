package conclave.interop;

import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.data.Stat;

/** The state of a client after a reconnect or a restart of the server. */
public final class Reconnects {
    private Reconnects() {}

    private static final class WatchesOfEveryKind {
        final EventLog data = new EventLog();
        final EventLog missing = new EventLog();
        final EventLog children = new EventLog();
        final EventLog persistent = new EventLog();
        final EventLog recursive = new EventLog();

        private final String root;

        WatchesOfEveryKind(Client c, String root) throws Exception {
            this.root = root;
            for (String name : List.of("/data", "/children", "/persistent", "/recursive"))
                c.make(root + name, "");
            c.zk.getData(root + "/data", data, null);
            c.zk.exists(root + "/missing", missing);
            c.zk.getChildren(root + "/children", children);
            c.zk.addWatch(root + "/persistent", persistent, AddWatchMode.PERSISTENT);
            c.zk.addWatch(root + "/recursive", recursive, AddWatchMode.PERSISTENT_RECURSIVE);
        }

        void nothingMore() {
            for (EventLog log : new EventLog[] {data, missing, children, persistent, recursive})
                log.nothingMore();
        }

        /** Checks that each watch fires as on the first connection. */
        void fire(Client other) throws Exception {
            other.zk.setData(root + "/data", null, -1);
            data.next(EventType.NodeDataChanged, root + "/data");
            other.make(root + "/missing", "");
            missing.next(EventType.NodeCreated, root + "/missing");
            other.make(root + "/children/a", "");
            children.next(EventType.NodeChildrenChanged, root + "/children");
            for (int round = 0; round < 2; ++round) {
                other.zk.setData(root + "/persistent", null, -1);
                persistent.next(EventType.NodeDataChanged, root + "/persistent");
                other.make(root + "/persistent/" + round, "");
                persistent.next(EventType.NodeChildrenChanged, root + "/persistent");
                other.make(root + "/recursive/" + round, "");
                recursive.next(EventType.NodeCreated, root + "/recursive/" + round);
            }
        }
    }

    public static void watchesOfEveryKindAreSetAgain(Bench b) throws Exception {
        LinkProxy proxy = b.proxy();
        Client c = b.connect(proxy.connectString());
        long session = c.zk.getSessionId();
        WatchesOfEveryKind watches = new WatchesOfEveryKind(c, b.root);
        proxy.drop();
        c.events.state(KeeperState.Disconnected);
        c.connected();
        c.catchUp();
        Expect.equal(c.zk.getSessionId(), session);
        watches.nothingMore();
        watches.fire(b.connect());
    }

    public static void whatOneShotWatchesMissedIsTold(Bench b) throws Exception {
        LinkProxy proxy = b.proxy();
        Client c = b.connect(proxy.connectString());
        Client other = b.connect();
        EventLog data = new EventLog();
        EventLog gone = new EventLog();
        EventLog made = new EventLog();
        EventLog children = new EventLog();
        EventLog untouched = new EventLog();
        for (String name : List.of("/data", "/gone", "/children", "/untouched"))
            c.make(b.root + name, "");
        c.zk.getData(b.root + "/data", data, null);
        c.zk.getData(b.root + "/gone", gone, null);
        c.zk.exists(b.root + "/made", made);
        c.zk.getChildren(b.root + "/children", children);
        c.zk.getData(b.root + "/untouched", untouched, null);
        proxy.disconnect();
        c.events.state(KeeperState.Disconnected);
        other.zk.setData(b.root + "/data", null, -1);
        other.zk.delete(b.root + "/gone", -1);
        other.make(b.root + "/made", "");
        other.make(b.root + "/children/child", "");
        proxy.heal();
        c.connected();
        data.next(EventType.NodeDataChanged, b.root + "/data");
        gone.next(EventType.NodeDeleted, b.root + "/gone");
        made.next(EventType.NodeCreated, b.root + "/made");
        children.next(EventType.NodeChildrenChanged, b.root + "/children");
        c.catchUp();
        untouched.nothingMore();
        other.zk.setData(b.root + "/untouched", null, -1);
        untouched.next(EventType.NodeDataChanged, b.root + "/untouched");
    }

    /** Persistent watches do not report missed events. */
    public static void persistentWatchesGoOnFromThere(Bench b) throws Exception {
        LinkProxy proxy = b.proxy();
        Client c = b.connect(proxy.connectString());
        Client other = b.connect();
        EventLog persistent = new EventLog();
        EventLog recursive = new EventLog();
        c.make(b.root + "/p", "");
        c.make(b.root + "/r", "");
        c.zk.addWatch(b.root + "/p", persistent, AddWatchMode.PERSISTENT);
        c.zk.addWatch(b.root + "/r", recursive, AddWatchMode.PERSISTENT_RECURSIVE);
        proxy.disconnect();
        c.events.state(KeeperState.Disconnected);
        for (String path : List.of(b.root + "/p", b.root + "/r")) {
            other.zk.setData(path, null, -1);
            other.make(path + "/missed", "");
        }
        proxy.heal();
        c.connected();
        c.catchUp();
        persistent.nothingMore();
        recursive.nothingMore();
        other.make(b.root + "/p/seen", "");
        persistent.next(EventType.NodeChildrenChanged, b.root + "/p");
        other.make(b.root + "/r/seen", "");
        recursive.next(EventType.NodeCreated, b.root + "/r/seen");
    }

    /** The client splits its list into requests of 128 KiB. */
    public static void moreWatchesThanFitIntoOneRequest(Bench b) throws Exception {
        LinkProxy proxy = b.proxy();
        Client c = b.connect(proxy.connectString());
        Client other = b.connect();
        List<EventLog> watches = new ArrayList<>();
        String name = b.root + "/" + "p".repeat(200);
        for (int i = 0; i < 2000; ++i) {
            watches.add(new EventLog());
            c.zk.exists(name + i, watches.get(i), (rc, path, context, stat) -> {}, null);
        }
        c.catchUp();
        proxy.disconnect();
        c.events.state(KeeperState.Disconnected);
        other.make(name + 0, "");
        proxy.heal();
        c.connected();
        watches.get(0).next(EventType.NodeCreated, name + 0);
        for (int i : new int[] {1, 700, 1400, 1999}) {
            other.make(name + i, "");
            watches.get(i).next(EventType.NodeCreated, name + i);
        }
    }

    public static void whoHadLoggedInStillIs(Bench b) throws Exception {
        LinkProxy proxy = b.proxy();
        Client c = b.connect(proxy.connectString());
        c.zk.addAuthInfo("digest", "kim:secret".getBytes());
        c.zk.create(b.root + "/a", "x".getBytes(), Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
        proxy.drop();
        c.events.state(KeeperState.Disconnected);
        c.connected();
        Expect.data(c.zk.getData(b.root + "/a", false, null), "x");
    }

    public static void killOfTheServer(Bench b) throws Exception {
        restart(b, TestServer::kill);
    }

    public static void restartOfTheServer(Bench b) throws Exception {
        restart(b, TestServer::stopGracefully);
    }

    private interface End {
        void of(TestServer server) throws Exception;
    }

    private static void restart(Bench b, End end) throws Exception {
        TestServer server = b.keep(new TestServer());
        Client c = b.connect(server.connectString());
        long session = c.zk.getSessionId();
        c.make("/a", "");
        WatchesOfEveryKind watches = new WatchesOfEveryKind(c, "/a");
        String mine = c.make("/mine-", "kept", CreateMode.EPHEMERAL_SEQUENTIAL);
        Stat before = c.zk.exists(mine, false);
        end.of(server);
        c.events.state(KeeperState.Disconnected);
        Expect.fails(Code.CONNECTIONLOSS, () -> c.zk.exists("/", false));
        server.startAgain();
        c.connected();
        Expect.equal(c.zk.getSessionId(), session);
        Expect.sameStat(c.zk.exists(mine, false), before);
        Expect.names(c.zk.getEphemerals(), mine);
        watches.nothingMore();
        watches.fire(b.connect(server.connectString()));
    }
}
