package conclave.interop;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.recipes.leader.LeaderElectionSupport;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;
import org.apache.zookeeper.recipes.queue.DistributedQueue;

/** The recipes that come with ZooKeeper itself. */
public final class ZooKeeperRecipes {
    private ZooKeeperRecipes() {}

    private static final class Turns implements LockListener {
        final String name;
        final BlockingQueue<String> queue;

        Turns(String name, BlockingQueue<String> queue) {
            this.name = name;
            this.queue = queue;
        }

        @Override
        public void lockAcquired() {
            queue.add(name);
        }

        @Override
        public void lockReleased() {}
    }

    private static String take(BlockingQueue<String> queue) throws InterruptedException {
        return queue.poll(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
    }

    public static void writeLockGoesByOrder(Bench b) throws Exception {
        BlockingQueue<String> owners = new LinkedBlockingQueue<>();
        String dir = b.root + "/lock";
        WriteLock[] locks = new WriteLock[3];
        for (int i = 0; i < locks.length; ++i) {
            locks[i] = new WriteLock(b.connect().zk, dir, Ids.OPEN_ACL_UNSAFE,
                    new Turns("lock " + i, owners));
            Expect.equal(locks[i].lock(), i == 0);
        }
        Expect.equal(take(owners), "lock 0");
        locks[0].unlock();
        Expect.equal(take(owners), "lock 1");
        Expect.that(locks[1].isOwner() && !locks[2].isOwner(), "one owner");
        locks[1].unlock();
        Expect.equal(take(owners), "lock 2");
        locks[2].unlock();
        Expect.names(b.connect().zk.getChildren(dir, false));
    }

    public static void writeLockOfALostSessionIsHandedOver(Bench b) throws Exception {
        BlockingQueue<String> owners = new LinkedBlockingQueue<>();
        LinkProxy proxy = b.proxy();
        WriteLock lost = new WriteLock(b.connect(proxy.connectString(), 500).zk, b.root + "/lock",
                Ids.OPEN_ACL_UNSAFE, new Turns("lost", owners));
        WriteLock next = new WriteLock(b.connect().zk, b.root + "/lock", Ids.OPEN_ACL_UNSAFE,
                new Turns("next", owners));
        Expect.that(lost.lock(), "a free lock is taken");
        Expect.equal(take(owners), "lost");
        Expect.that(!next.lock(), "taken twice");
        proxy.disconnect();
        Expect.equal(take(owners), "next");
        next.unlock();
    }

    public static void queueKeepsItsOrder(Bench b) throws Exception {
        DistributedQueue in = new DistributedQueue(b.connect().zk, b.root + "/q", Ids.OPEN_ACL_UNSAFE);
        DistributedQueue out = new DistributedQueue(b.connect().zk, b.root + "/q", Ids.OPEN_ACL_UNSAFE);
        for (int i = 0; i < 10; ++i) in.offer(("item " + i).getBytes());
        Expect.data(out.peek(), "item 0");
        Expect.data(out.element(), "item 0");
        Expect.data(out.poll(), "item 0");
        Expect.data(out.remove(), "item 1");
        for (int i = 2; i < 10; ++i) Expect.data(out.take(), "item " + i);
        Expect.equal(out.poll(), null);
        CompletableFuture<byte[]> waiting = CompletableFuture.supplyAsync(() -> {
            try {
                return out.take();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        in.offer("late".getBytes());
        Expect.data(waiting.get(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS), "late");
    }

    public static void electionIsHandedOn(Bench b) throws Exception {
        Client[] clients = {b.connect(), b.connect()};
        String root = b.root + "/election";
        clients[0].make(root, "");
        BlockingQueue<String> elected = new LinkedBlockingQueue<>();
        LeaderElectionSupport[] members = new LeaderElectionSupport[2];
        for (int i = 0; i < 2; ++i) {
            String name = "host " + i;
            members[i] = new LeaderElectionSupport();
            members[i].setZooKeeper(clients[i].zk);
            members[i].setRootNodeName(root);
            members[i].setHostName(name);
            members[i].addListener(event -> {
                if (event == LeaderElectionSupport.EventType.ELECTED_COMPLETE) elected.add(name);
            });
            members[i].start();
        }
        Expect.equal(take(elected), "host 0");
        Expect.equal(members[1].getLeaderHostName(), "host 0");
        EventLog watch = new EventLog();
        List<String> offers = clients[1].zk.getChildren(root, watch);
        Expect.equal(offers.size(), 2);
        members[0].stop();
        watch.next(EventType.NodeChildrenChanged, root);
        Expect.equal(take(elected), "host 1");
        members[1].stop();
    }
}
