package conclave.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.data.Stat;

/** Transactions and groups of reads. */
public final class Transactions {
    private Transactions() {}

    private static Op create(String path, CreateMode mode) {
        return Op.create(path, "x".getBytes(), Ids.OPEN_ACL_UNSAFE, mode);
    }

    public static void everyKindOfOperation(Bench b) throws Exception {
        Client c = b.connect();
        c.make(b.root + "/old", "");
        c.make(b.root + "/gone", "");
        List<OpResult> results = c.zk.multi(List.of(
                Op.check(b.root + "/old", 0),
                create(b.root + "/p", CreateMode.PERSISTENT),
                create(b.root + "/s-", CreateMode.PERSISTENT_SEQUENTIAL),
                create(b.root + "/e", CreateMode.EPHEMERAL),
                create(b.root + "/q-", CreateMode.EPHEMERAL_SEQUENTIAL),
                create(b.root + "/box", CreateMode.CONTAINER),
                Op.create(b.root + "/ttl", null, Ids.OPEN_ACL_UNSAFE,
                        CreateMode.PERSISTENT_WITH_TTL, 60_000),
                Op.setData(b.root + "/old", "new".getBytes(), 0),
                Op.delete(b.root + "/gone", 0)));
        Expect.equal(results.size(), 9);
        String[] paths = {"/p", "/s-0000000003", "/e", "/q-0000000005", "/box", "/ttl"};
        for (int i = 0; i < paths.length; ++i)
            Expect.equal(((OpResult.CreateResult) results.get(1 + i)).getPath(), b.root + paths[i]);
        Stat changed = ((OpResult.SetDataResult) results.get(7)).getStat();
        Expect.sameStat(changed, c.zk.exists(b.root + "/old", false));
        Expect.equal(changed.getMzxid(), c.zk.exists(b.root + "/p", false).getCzxid());
        Expect.equal(c.zk.exists(b.root + "/gone", false), null);
        Expect.names(c.zk.getEphemerals(b.root), b.root + "/e", b.root + "/q-0000000005");
        Expect.equal(c.zk.exists(b.root + "/ttl", false).getEphemeralOwner(), 0L);
    }

    /** Whether results of creates contain a Stat depends on the request. */
    public static void statsOfCreates(Bench b) throws Exception {
        Client c = b.connect();
        List<OpResult> results = c.zk.multi(List.of(
                create(b.root + "/p", CreateMode.PERSISTENT),
                create(b.root + "/box", CreateMode.CONTAINER),
                Op.create(b.root + "/ttl", null, Ids.OPEN_ACL_UNSAFE,
                        CreateMode.PERSISTENT_WITH_TTL, 60_000)));
        List<String> seen = new ArrayList<>();
        for (OpResult result : results) {
            Stat stat = ((OpResult.CreateResult) result).getStat();
            seen.add(result.getType() + (stat == null ? " without" : " with"));
        }
        Expect.equal(seen, List.of("1 without", "15 with", "15 with"));
    }

    public static void aFailureUndoesAll(Bench b) throws Exception {
        Client c = b.connect();
        Stat before = c.zk.exists(b.root, false);
        try {
            c.zk.multi(List.of(create(b.root + "/a", CreateMode.PERSISTENT),
                    Op.setData(b.root, "x".getBytes(), -1), Op.check(b.root + "/missing", 0),
                    Op.delete(b.root + "/a", -1)));
            throw new Failure("it went through");
        } catch (KeeperException e) {
            Expect.equal(e.code(), Code.NONODE);
            List<Integer> codes = new ArrayList<>();
            for (OpResult result : e.getResults())
                codes.add(((OpResult.ErrorResult) result).getErr());
            Expect.equal(codes, List.of(0, 0, Code.NONODE.intValue(),
                    Code.RUNTIMEINCONSISTENCY.intValue()));
        }
        Expect.sameStat(c.zk.exists(b.root, false), before);
    }

    public static void asynchronously(Bench b) throws Exception {
        Client c = b.connect();
        CompletableFuture<Object> good = new CompletableFuture<>();
        c.zk.multi(List.of(create(b.root + "/a", CreateMode.PERSISTENT)),
                (rc, path, x, results) -> good.complete(rc + " " + results.size()), null);
        Expect.equal(Operations.await(good), "0 1");
        CompletableFuture<Object> bad = new CompletableFuture<>();
        c.zk.multi(List.of(create(b.root + "/b", CreateMode.PERSISTENT), Op.delete(b.root + "/c", -1)),
                (rc, path, x, results) -> bad.complete(Code.get(rc) + " " + results.size()), null);
        Expect.equal(Operations.await(bad), "NONODE 2");
    }

    public static void transactionBuilder(Bench b) throws Exception {
        Client c = b.connect();
        List<OpResult> results = c.zk.transaction()
                .create(b.root + "/a", "1".getBytes(), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT)
                .check(b.root + "/a", 0)
                .setData(b.root + "/a", "2".getBytes(), 0)
                .create(b.root + "/a/b", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT)
                .delete(b.root + "/a/b", -1)
                .commit();
        Expect.equal(results.size(), 5);
        Expect.data(c.zk.getData(b.root + "/a", false, null), "2");
        Expect.equal(c.zk.exists(b.root + "/a", false).getCversion(), 2);
    }

    public static void severalReads(Bench b) throws Exception {
        Client c = b.connect();
        c.make(b.root + "/a", "1");
        List<OpResult> results = c.zk.multi(List.of(Op.getData(b.root + "/a"),
                Op.getChildren(b.root), Op.getData(b.root + "/missing"), Op.getChildren(b.root)));
        OpResult.GetDataResult data = (OpResult.GetDataResult) results.get(0);
        Expect.data(data.getData(), "1");
        Expect.sameStat(data.getStat(), c.zk.exists(b.root + "/a", false));
        Expect.names(((OpResult.GetChildrenResult) results.get(1)).getChildren(), "a");
        Expect.equal(((OpResult.ErrorResult) results.get(2)).getErr(), Code.NONODE.intValue());
        Expect.names(((OpResult.GetChildrenResult) results.get(3)).getChildren(), "a");
    }

    public static void watchesSeeThem(Bench b) throws Exception {
        Client c = b.connect();
        EventLog data = new EventLog();
        EventLog children = new EventLog();
        EventLog all = new EventLog(); // of another client: see Watches
        c.zk.getData(b.root, data, null);
        c.zk.getChildren(b.root, children);
        b.connect().zk.addWatch(b.root, all, AddWatchMode.PERSISTENT_RECURSIVE);
        c.zk.multi(List.of(Op.setData(b.root, null, -1), create(b.root + "/a", CreateMode.PERSISTENT),
                create(b.root + "/a/b", CreateMode.PERSISTENT), Op.delete(b.root + "/a/b", -1)));
        data.next(EventType.NodeDataChanged, b.root);
        children.next(EventType.NodeChildrenChanged, b.root);
        all.next(EventType.NodeDataChanged, b.root)
                .next(EventType.NodeCreated, b.root + "/a")
                .next(EventType.NodeCreated, b.root + "/a/b")
                .next(EventType.NodeDeleted, b.root + "/a/b");
    }
}
