package conclave.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.admin.ZooKeeperAdmin;
import org.apache.zookeeper.data.Stat;

/** Creating, reading, changing, listing and removing nodes, blocking and asynchronous. */
public final class Operations {
    private Operations() {}

    public static void createInEveryMode(Bench b) throws Exception {
        Client c = b.connect();
        Stat stat = new Stat();
        for (CreateMode mode : CreateMode.values()) {
            String path = b.root + "/" + mode;
            String made = mode.isTTL()
                    ? c.zk.create(path, "x".getBytes(), Ids.OPEN_ACL_UNSAFE, mode, stat, 60_000)
                    : c.zk.create(path, "x".getBytes(), Ids.OPEN_ACL_UNSAFE, mode, stat);
            String suffix = mode.isSequential() ? String.format("%010d", mode.ordinal()) : "";
            Expect.equal(made, path + suffix);
            Expect.sameStat(stat, c.zk.exists(made, false));
            Expect.equal(stat.getEphemeralOwner(), mode.isEphemeral() ? c.zk.getSessionId() : 0L);
            Expect.equal(stat.getMzxid(), stat.getCzxid());
            Expect.equal(stat.getPzxid(), stat.getCzxid());
            Expect.equal(stat.getDataLength(), 1);
        }
        Stat parent = c.zk.exists(b.root, false);
        Expect.equal(parent.getNumChildren(), CreateMode.values().length);
        Expect.equal(parent.getCversion(), CreateMode.values().length);
        Expect.equal(parent.getPzxid(), stat.getCzxid());
    }

    public static void createWithoutStat(Bench b) throws Exception {
        Client c = b.connect();
        for (CreateMode mode : CreateMode.values())
            if (!mode.isTTL()) c.make(b.root + "/" + mode, "x", mode);
        Expect.equal(c.zk.getChildren(b.root, false).size(), 5);
        Expect.fails(Code.NODEEXISTS, () -> c.make(b.root + "/PERSISTENT", ""));
        Expect.fails(Code.NODEEXISTS, () -> c.make(b.root + "/PERSISTENT", "", CreateMode.CONTAINER));
        Expect.fails(Code.NONODE, () -> c.make(b.root + "/missing/a", ""));
        Expect.fails(Code.NOCHILDRENFOREPHEMERALS, () -> c.make(b.root + "/EPHEMERAL/a", ""));
    }

    public static void dataAndVersions(Bench b) throws Exception {
        Client c = b.connect();
        Stat stat = new Stat();
        Expect.equal(c.zk.setData(b.root, "one".getBytes(), 0).getVersion(), 1);
        Expect.fails(Code.BADVERSION, () -> c.zk.setData(b.root, null, 0));
        Expect.data(c.zk.getData(b.root, false, stat), "one");
        Expect.sameStat(stat, c.zk.exists(b.root, false));
        Expect.equal(c.zk.setData(b.root, null, -1).getVersion(), 2);
        Expect.equal(c.zk.getData(b.root, false, stat), null);
        Expect.fails(Code.NONODE, () -> c.zk.setData(b.root + "/missing", null, -1));
        Expect.fails(Code.NONODE, () -> c.zk.getData(b.root + "/missing", false, null));
        Expect.equal(c.zk.exists(b.root + "/missing", false), null);
    }

    public static void childrenInBothForms(Bench b) throws Exception {
        Client c = b.connect();
        c.make(b.root + "/a", "");
        c.make(b.root + "/b", "");
        Stat stat = new Stat();
        Expect.names(c.zk.getChildren(b.root, false), "a", "b");
        Expect.names(c.zk.getChildren(b.root, false, stat), "a", "b");
        Expect.sameStat(stat, c.zk.exists(b.root, false));
        Expect.fails(Code.NONODE, () -> c.zk.getChildren(b.root + "/missing", false));
        Expect.fails(Code.NONODE, () -> c.zk.getChildren(b.root + "/missing", false, stat));
    }

    public static void deleteChecks(Bench b) throws Exception {
        Client c = b.connect();
        c.make(b.root + "/a", "");
        c.make(b.root + "/a/b", "");
        Expect.fails(Code.NOTEMPTY, () -> c.zk.delete(b.root + "/a", -1));
        Expect.fails(Code.BADVERSION, () -> c.zk.delete(b.root + "/a/b", 1));
        c.zk.delete(b.root + "/a/b", 0);
        c.zk.delete(b.root + "/a", -1);
        Expect.fails(Code.NONODE, () -> c.zk.delete(b.root + "/a", -1));
        Expect.fails(Code.BADARGUMENTS, () -> c.zk.delete("/zookeeper", -1));
    }

    public static void containersGoWithTheirLastChild(Bench b) throws Exception {
        Client c = b.connect();
        String box = c.make(b.root + "/box", "", CreateMode.CONTAINER);
        c.make(box + "/child", "");
        EventLog watch = new EventLog();
        c.zk.exists(box, watch);
        c.zk.delete(box + "/child", -1);
        watch.next(EventType.NodeDeleted, box);
        Expect.equal(c.zk.exists(box, false), null);
    }

    public static void timeToLiveEnds(Bench b) throws Exception {
        Client c = b.connect();
        String path = c.zk.create(b.root + "/t", new byte[0], Ids.OPEN_ACL_UNSAFE,
                CreateMode.PERSISTENT_WITH_TTL, new Stat(), 300);
        c.make(path + "/child", ""); // it is kept while it has a child
        EventLog watch = new EventLog();
        c.zk.exists(path, watch);
        EventLog other = new EventLog();
        String shortLived = c.zk.create(b.root + "/s", new byte[0], Ids.OPEN_ACL_UNSAFE,
                CreateMode.PERSISTENT_SEQUENTIAL_WITH_TTL, new Stat(), 600);
        c.zk.exists(shortLived, other);
        other.next(EventType.NodeDeleted, shortLived);
        c.catchUp();
        watch.nothingMore();
        c.zk.delete(path + "/child", -1);
        watch.next(EventType.NodeDeleted, path);
    }

    public static void ephemeralsOfTheSession(Bench b) throws Exception {
        Client c = b.connect();
        Client other = b.connect();
        c.make(b.root + "/e1", "", CreateMode.EPHEMERAL);
        c.make(b.root + "/dir", "");
        c.make(b.root + "/dir/e2", "", CreateMode.EPHEMERAL);
        other.make(b.root + "/foreign", "", CreateMode.EPHEMERAL);
        Expect.names(c.zk.getEphemerals(), b.root + "/e1", b.root + "/dir/e2");
        Expect.names(c.zk.getEphemerals(b.root + "/dir"), b.root + "/dir/e2");
        Expect.names(c.zk.getEphemerals(b.root + "/nowhere"));
        CompletableFuture<List<String>> answer = new CompletableFuture<>();
        c.zk.getEphemerals(b.root, (rc, context, paths) -> answer.complete(paths), null);
        Expect.equal(await(answer).size(), 2);
    }

    public static void numberOfAllDescendants(Bench b) throws Exception {
        Client c = b.connect();
        Expect.equal(c.zk.getAllChildrenNumber(b.root), 0);
        c.make(b.root + "/a", "");
        c.make(b.root + "/a/b", "");
        c.make(b.root + "/ab", "");
        Expect.equal(c.zk.getAllChildrenNumber(b.root), 3);
        Expect.equal(c.zk.getAllChildrenNumber(b.root + "/a"), 1);
        Expect.fails(Code.NONODE, () -> c.zk.getAllChildrenNumber(b.root + "/missing"));
        CompletableFuture<Integer> answer = new CompletableFuture<>();
        c.zk.getAllChildrenNumber(b.root, (rc, path, context, n) -> answer.complete(n), null);
        Expect.equal(await(answer), 3);
    }

    public static void whatEveryServerHas(Bench b) throws Exception {
        Client c = b.connect();
        Expect.names(c.zk.getChildren("/zookeeper", false), "config", "quota");
        Expect.data(c.zk.getConfig(false, new Stat()), "");
        try (ZooKeeper admin = new ZooKeeperAdmin(b.server.connectString(), 5000, event -> {})) {
            Expect.fails(Code.UNIMPLEMENTED, () -> ((ZooKeeperAdmin) admin)
                    .reconfigure("server.1=127.0.0.1:1:2;3", null, null, -1, new Stat()));
        }
    }

    public static void asynchronously(Bench b) throws Exception {
        Client c = b.connect();
        String a = b.root + "/a";
        CompletableFuture<Object> created = new CompletableFuture<>();
        c.zk.create(a, "1".getBytes(), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
                (int rc, String path, Object x, String name) -> created.complete(rc + name), null);
        Expect.equal(await(created), "0" + a);

        CompletableFuture<Object> created2 = new CompletableFuture<>();
        c.zk.create(b.root + "/n-", "1".getBytes(), Ids.OPEN_ACL_UNSAFE,
                CreateMode.EPHEMERAL_SEQUENTIAL, (int rc, String path, Object x, String name,
                        Stat stat) -> created2.complete(name + stat.getEphemeralOwner()), null);
        Expect.equal(await(created2), b.root + "/n-0000000001" + c.zk.getSessionId());

        CompletableFuture<Object> ttl = new CompletableFuture<>();
        c.zk.create(b.root + "/ttl", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_WITH_TTL,
                (rc, path, x, name, stat) -> ttl.complete(name), null, 60_000);
        Expect.equal(await(ttl), b.root + "/ttl");

        CompletableFuture<Object> exists = new CompletableFuture<>();
        c.zk.exists(a, false, (rc, path, x, stat) -> exists.complete(stat.getDataLength()), null);
        Expect.equal(await(exists), 1);

        CompletableFuture<Object> set = new CompletableFuture<>();
        c.zk.setData(a, "22".getBytes(), 0, (rc, path, x, stat) -> set.complete(stat.getVersion()),
                null);
        Expect.equal(await(set), 1);

        CompletableFuture<Object> get = new CompletableFuture<>();
        c.zk.getData(a, false, (rc, path, x, data, stat) -> get.complete(new String(data)), null);
        Expect.equal(await(get), "22");

        CompletableFuture<Object> children = new CompletableFuture<>();
        c.zk.getChildren(b.root, false,
                (int rc, String path, Object x, List<String> names) -> children.complete(names.size()),
                null);
        Expect.equal(await(children), 3);

        CompletableFuture<Object> children2 = new CompletableFuture<>();
        c.zk.getChildren(b.root, false, (int rc, String path, Object x, List<String> names,
                Stat stat) -> children2.complete(stat.getNumChildren()), null);
        Expect.equal(await(children2), 3);

        CompletableFuture<Object> setAcl = new CompletableFuture<>();
        c.zk.setACL(a, Ids.READ_ACL_UNSAFE, 0,
                (rc, path, x, stat) -> setAcl.complete(stat.getAversion()), null);
        Expect.equal(await(setAcl), 1);

        CompletableFuture<Object> getAcl = new CompletableFuture<>();
        c.zk.getACL(a, new Stat(), (rc, path, x, acl, stat) -> getAcl.complete(acl), null);
        Expect.equal(await(getAcl), Ids.READ_ACL_UNSAFE);

        CompletableFuture<Object> delete = new CompletableFuture<>();
        c.zk.delete(a, 7, (rc, path, x) -> delete.complete(Code.get(rc)), null);
        Expect.equal(await(delete), Code.BADVERSION);
    }

    /** Many requests at once are answered in order. */
    public static void pipelined(Bench b) throws Exception {
        Client c = b.connect();
        int count = 2000;
        List<String> names = new ArrayList<>(); // used only by the event thread
        CompletableFuture<Void> last = new CompletableFuture<>();
        for (int i = 0; i < count; ++i) {
            c.zk.create(b.root + "/n", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL,
                    (int rc, String path, Object x, String name) -> {
                        names.add(rc == 0 ? name : Code.get(rc).toString());
                        if (names.size() == count) last.complete(null);
                    }, null);
        }
        await(last);
        for (int i = 0; i < count; ++i)
            Expect.equal(names.get(i), String.format("%s/n%010d", b.root, i));
    }

    static <T> T await(CompletableFuture<T> answer) throws Exception {
        return answer.get(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
    }
}
