package conclave.interop;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.recipes.nodes.PersistentTtlNode;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.data.Stat;

/** Curator's recipes that create, keep and cache nodes. */
public final class CuratorNodes {
    private CuratorNodes() {}

    private static boolean exists(CuratorFramework curator, String path) throws Exception {
        return curator.checkExists().forPath(path) != null;
    }

    public static void parentContainersAreMadeAndReaped(Bench b) throws Exception {
        CuratorFramework curator = Curators.connect(b);
        String path = curator.create().creatingParentContainersIfNeeded()
                .withMode(CreateMode.EPHEMERAL).forPath(b.root + "/outer/inner/leaf");
        Expect.equal(curator.checkExists().forPath(b.root + "/outer").getEphemeralOwner(), 0L);
        EventLog watch = new EventLog();
        curator.checkExists().usingWatcher(watch).forPath(b.root + "/outer");
        curator.delete().forPath(path);
        watch.next(EventType.NodeDeleted, b.root + "/outer"); // after the inner one
        Expect.that(!exists(curator, b.root + "/outer/inner"), "both are gone");
    }

    public static void operationsAreTriedAgainAfterACut(Bench b) throws Exception {
        LinkProxy proxy = b.proxy();
        CuratorFramework curator = Curators.connect(b, proxy.connectString(), 20_000);
        String path = curator.create().withProtection()
                .withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath(b.root + "/p-");
        Expect.that(path.matches(b.root + "/_c_[-0-9a-f]{36}-p-0000000000"), path);
        proxy.drop(); // Curator tries again by itself
        curator.setData().forPath(path, "x".getBytes());
        Expect.data(curator.getData().forPath(path), "x");
    }

    public static void fluentOperations(Bench b) throws Exception {
        CuratorFramework curator = Curators.connect(b);
        Stat stat = new Stat();
        String a = curator.create().storingStatIn(stat).creatingParentsIfNeeded()
                .forPath(b.root + "/x/y/a", "1".getBytes());
        Expect.sameStat(stat, curator.checkExists().forPath(a));
        Expect.equal(curator.create().orSetData().forPath(a, "2".getBytes()), a);
        Expect.data(curator.getData().storingStatIn(stat).forPath(a), "2");
        Expect.equal(stat.getVersion(), 1);
        Expect.fails(Code.BADVERSION, () -> curator.setData().withVersion(0).forPath(a));
        String ttl = curator.create().withTtl(60_000).withMode(CreateMode.PERSISTENT_WITH_TTL)
                .forPath(b.root + "/ttl");
        Expect.that(exists(curator, ttl), "a node with a time to live");
        curator.delete().guaranteed().deletingChildrenIfNeeded().forPath(b.root + "/x");
        curator.delete().quietly().forPath(b.root + "/x");
        Expect.names(curator.getChildren().forPath(b.root), "ttl");
        curator.sync().forPath("/");
    }

    public static void transaction(Bench b) throws Exception {
        CuratorFramework curator = Curators.connect(b);
        List<CuratorTransactionResult> results = curator.transaction().forOperations(
                curator.transactionOp().create().forPath(b.root + "/a", "1".getBytes()),
                curator.transactionOp().check().withVersion(0).forPath(b.root + "/a"),
                curator.transactionOp().setData().forPath(b.root + "/a", "2".getBytes()),
                curator.transactionOp().create().withMode(CreateMode.CONTAINER).forPath(b.root + "/box"),
                curator.transactionOp().delete().forPath(b.root + "/a"));
        Expect.equal(results.size(), 5);
        Expect.equal(results.get(2).getResultStat().getVersion(), 1);
        Expect.names(curator.getChildren().forPath(b.root), "box");
        Expect.fails(Code.NONODE, () -> curator.transaction().forOperations(
                curator.transactionOp().create().forPath(b.root + "/c"),
                curator.transactionOp().delete().forPath(b.root + "/missing")));
        Expect.names(curator.getChildren().forPath(b.root), "box");
    }

    public static void watchesAreAddedAndRemoved(Bench b) throws Exception {
        CuratorFramework curator = Curators.connect(b);
        EventLog watch = new EventLog();
        curator.watchers().add().withMode(AddWatchMode.PERSISTENT_RECURSIVE).usingWatcher(watch)
                .forPath(b.root);
        curator.create().forPath(b.root + "/a");
        watch.next(EventType.NodeCreated, b.root + "/a");
        curator.watchers().remove((org.apache.zookeeper.Watcher) watch).forPath(b.root);
        watch.next(EventType.PersistentWatchRemoved, b.root);
    }

    public static void cacheMirrorsATree(Bench b) throws Exception {
        CuratorFramework curator = Curators.connect(b);
        CuratorFramework other = Curators.connect(b);
        other.create().creatingParentsIfNeeded().forPath(b.root + "/old/leaf", "1".getBytes());
        BlockingQueue<String> seen = new LinkedBlockingQueue<>();
        CuratorCache cache = b.keep(CuratorCache.build(curator, b.root));
        cache.listenable().addListener(CuratorCacheListener.builder()
                .forInitialized(() -> seen.add("initialized"))
                .forCreates(node -> seen.add("created " + node.getPath()))
                .forChanges((before, node) -> seen.add("changed " + node.getPath() + " "
                        + new String(node.getData())))
                .forDeletes(node -> seen.add("deleted " + node.getPath()))
                .build());
        cache.start();
        String next;
        do {
            next = take(seen);
        } while (!next.equals("initialized"));
        Expect.equal(cache.size(), 3);
        other.create().forPath(b.root + "/new");
        Expect.equal(take(seen), "created " + b.root + "/new");
        other.setData().forPath(b.root + "/old/leaf", "2".getBytes());
        Expect.equal(take(seen), "changed " + b.root + "/old/leaf 2");
        other.delete().forPath(b.root + "/new");
        Expect.equal(take(seen), "deleted " + b.root + "/new");
        Expect.data(cache.get(b.root + "/old/leaf").get().getData(), "2");
    }

    /** After a reconnect, it detects missed changes. */
    public static void cacheCatchesUpAfterAReconnect(Bench b) throws Exception {
        LinkProxy proxy = b.proxy();
        CuratorFramework curator = Curators.connect(b, proxy.connectString(), 20_000);
        CuratorFramework other = Curators.connect(b);
        CuratorCache cache = b.keep(CuratorCache.build(curator, b.root));
        cache.start();
        other.create().forPath(b.root + "/a");
        Expect.becomes(() -> cache.get(b.root + "/a").isPresent(), "the first one is mirrored");
        proxy.disconnect();
        other.create().forPath(b.root + "/missed");
        other.delete().forPath(b.root + "/a");
        proxy.heal();
        Expect.becomes(() -> cache.get(b.root + "/missed").isPresent(), "the missed one, too");
        other.create().forPath(b.root + "/later");
        Expect.becomes(() -> cache.get(b.root + "/later").isPresent(), "and what comes later");
    }

    public static void persistentNodeComesBack(Bench b) throws Exception {
        CuratorFramework other = Curators.connect(b);
        String path = b.root + "/kept";
        LinkProxy proxy = b.proxy();
        PersistentNode node = b.keep(new PersistentNode(
                Curators.connect(b, proxy.connectString(), 1_000), CreateMode.EPHEMERAL, false, path,
                "x".getBytes()));
        node.start();
        Expect.that(node.waitForInitialCreate(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS), "it is made");

        long first = other.checkExists().forPath(path).getCzxid();
        other.delete().forPath(path);
        Expect.becomes(() -> exists(other, path), "made again after somebody removed it");

        long session = other.checkExists().forPath(path).getEphemeralOwner();
        EventLog watch = new EventLog();
        other.checkExists().usingWatcher(watch).forPath(path);
        proxy.disconnect();
        watch.next(EventType.NodeDeleted, path); // its session has expired
        proxy.heal();
        Expect.becomes(() -> exists(other, path), "made again by a new session");
        Stat last = other.checkExists().forPath(path);
        Expect.that(last.getEphemeralOwner() != session && last.getCzxid() > first, "another node");
        Expect.data(other.getData().forPath(path), "x");
    }

    public static void ttlNodeIsKeptAliveByItsOwner(Bench b) throws Exception {
        CuratorFramework curator = Curators.connect(b);
        PersistentTtlNode node = new PersistentTtlNode(curator, b.root + "/ttl", 600, "x".getBytes());
        node.start();
        Expect.that(node.waitForInitialCreate(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS), "it is made");
        EventLog watch = new EventLog();
        curator.checkExists().usingWatcher(watch).forPath(b.root + "/ttl");
        String touched = b.root + "/ttl/" + PersistentTtlNode.DEFAULT_CHILD_NODE_NAME;
        Expect.becomes(() -> exists(curator, touched) && curator.checkExists().forPath(touched)
                .getVersion() > 2, "it is touched again and again");
        node.close();
        watch.next(EventType.NodeDeleted, b.root + "/ttl");
    }

    public static void groupMembership(Bench b) throws Exception {
        GroupMember one = b.keep(new GroupMember(Curators.connect(b), b.root + "/group", "one"));
        GroupMember two = b.keep(new GroupMember(Curators.connect(b), b.root + "/group", "two"));
        one.start();
        two.start();
        Expect.becomes(() -> one.getCurrentMembers().size() == 2, "each sees the other");
        two.close();
        Expect.becomes(() -> one.getCurrentMembers().keySet().equals(java.util.Set.of("one")),
                "until it leaves");
    }

    private static String take(BlockingQueue<String> queue) throws InterruptedException {
        String next = queue.poll(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
        Expect.that(next != null, "the cache tells nothing");
        return next;
    }
}
