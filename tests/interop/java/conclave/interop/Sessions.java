package conclave.interop;

import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper.States;

/** Sessions: timeout, close, expiry and reconnect. */
public final class Sessions {
    private Sessions() {}

    public static void theTimeoutIsKeptWithinTheServersBounds(Bench b) throws Exception {
        int[][] wantedAndGiven = {{300, 400}, {5000, 5000}, {1_000_000, 60_000}};
        for (int[] pair : wantedAndGiven)
            Expect.equal(b.connect(b.server.connectString(), pair[0]).zk.getSessionTimeout(), pair[1]);
    }

    public static void closingRemovesEphemeralNodesAtOnce(Bench b) throws Exception {
        Client witness = b.connect();
        Client c = b.connect(b.server.connectString(), 60_000);
        c.make(b.root + "/e", "", CreateMode.EPHEMERAL);
        c.make(b.root + "/p", "");
        EventLog watch = new EventLog();
        witness.zk.exists(b.root + "/e", watch);
        c.close();
        watch.next(EventType.NodeDeleted, b.root + "/e");
        Expect.names(witness.zk.getChildren(b.root, false), "p");
    }

    public static void idleOnesAreKeptAlive(Bench b) throws Exception {
        Client c = b.connect(b.server.connectString(), 2_000);
        c.events.noStateFor(2_500);
        c.zk.exists("/", false);
    }

    public static void expiryIsTold(Bench b) throws Exception {
        Client witness = b.connect();
        LinkProxy proxy = b.proxy();
        Client c = b.connect(proxy.connectString(), 500);
        c.make(b.root + "/e", "", CreateMode.EPHEMERAL);
        EventLog watch = new EventLog();
        witness.zk.exists(b.root + "/e", watch);
        proxy.disconnect();
        watch.next(EventType.NodeDeleted, b.root + "/e");
        proxy.heal();
        c.events.state(KeeperState.Expired);
        Expect.equal(c.zk.getState(), States.CLOSED);
        Expect.fails(Code.SESSIONEXPIRED, () -> c.zk.exists("/", false));
    }

    public static void goesOnWithAnotherHandle(Bench b) throws Exception {
        LinkProxy proxy = b.proxy();
        Client first = b.connect(proxy.connectString());
        first.make(b.root + "/e", "", CreateMode.EPHEMERAL);
        proxy.disconnect(); // otherwise it would reconnect and take over the session again
        Client second = b.keep(new Client(b.server.connectString(), first.zk.getSessionId(),
                first.zk.getSessionPasswd())).connected();
        Expect.equal(second.zk.getSessionId(), first.zk.getSessionId());
        Expect.equal(second.zk.exists(b.root + "/e", false).getEphemeralOwner(),
                first.zk.getSessionId());
        second.close();
        proxy.heal();
        first.events.state(KeeperState.Expired);
    }

    public static void theNewerConnectionWins(Bench b) throws Exception {
        LinkProxy proxy = b.proxy();
        Client first = b.connect(proxy.connectString());
        Client second = b.keep(new Client(b.server.connectString(), first.zk.getSessionId(),
                first.zk.getSessionPasswd())).connected();
        first.events.state(KeeperState.Disconnected);
        proxy.disconnect();
        second.catchUp();
    }

    public static void aWrongPasswordIsAsGoodAsExpired(Bench b) throws Exception {
        Client owner = b.connect();
        Client witness = b.connect();
        owner.make(b.root + "/e", "", CreateMode.EPHEMERAL);
        byte[] guessed = owner.zk.getSessionPasswd().clone();
        guessed[15] ^= 1;
        Client thief = b.keep(
                new Client(b.server.connectString(), owner.zk.getSessionId(), guessed));
        thief.events.state(KeeperState.Expired);
        Expect.that(witness.zk.exists(b.root + "/e", false) != null, "the owner keeps its session");
    }

    public static void oneThatNeverWasIsExpired(Bench b) throws Exception {
        Client c = b.keep(new Client(b.server.connectString(), 0x1234567890abcdefL, new byte[16]));
        c.events.state(KeeperState.Expired);
    }

    public static void readOnlyClientsMayWriteHere(Bench b) throws Exception {
        Client c = b.keep(Client.readOnly(b.server.connectString())).connected();
        c.make(b.root + "/a", "");
    }

    public static void aRootOfItsOwn(Bench b) throws Exception {
        Client c = b.connect(b.server.connectString() + b.root);
        EventLog watch = new EventLog();
        c.zk.exists("/a", watch);
        Expect.equal(c.make("/a", "x"), "/a");
        watch.next(EventType.NodeCreated, "/a");
        Expect.data(b.connect().zk.getData(b.root + "/a", false, null), "x");
    }

    public static void aRequestThatIsTooLargeCostsTheConnection(Bench b) throws Exception {
        Client c = b.connect();
        long session = c.zk.getSessionId();
        c.zk.setData(b.root, new byte[1_000_000], -1);
        Expect.fails(Code.CONNECTIONLOSS, () -> c.zk.setData(b.root, new byte[2_000_000], -1));
        c.connected();
        Expect.equal(c.zk.getSessionId(), session);
        Expect.equal(c.zk.getData(b.root, false, null).length, 1_000_000);
    }
}
