package conclave.interop;

import java.util.Arrays;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.ClientInfo;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider;

/** Access control and authentication. */
public final class Access {
    private Access() {}

    private static Id digest(String userAndPassword) throws Exception {
        return new Id("digest", DigestAuthenticationProvider.generateDigest(userAndPassword));
    }

    private static void create(Client c, String path, ACL... acl) throws Exception {
        c.zk.create(path, "x".getBytes(), Arrays.asList(acl), CreateMode.PERSISTENT);
    }

    public static void digestAndAuth(Bench b) throws Exception {
        Client kim = b.connect();
        Client eve = b.connect();
        kim.zk.addAuthInfo("digest", "kim:secret".getBytes());
        create(kim, b.root + "/auth", new ACL(Perms.ALL, Ids.AUTH_IDS));
        create(kim, b.root + "/digest", new ACL(Perms.ALL, digest("kim:secret")));
        for (String path : List.of(b.root + "/auth", b.root + "/digest")) {
            Expect.equal(kim.zk.getACL(path, new Stat()),
                    List.of(new ACL(Perms.ALL, digest("kim:secret"))));
            Expect.data(kim.zk.getData(path, false, null), "x");
            Expect.fails(Code.NOAUTH, () -> eve.zk.getData(path, false, null));
            Expect.fails(Code.NOAUTH, () -> eve.zk.setData(path, null, -1));
            Expect.fails(Code.NOAUTH, () -> eve.zk.getACL(path, new Stat()));
            Expect.fails(Code.NOAUTH, () -> eve.make(path + "/child", ""));
        }
        eve.zk.addAuthInfo("digest", "kim:secret".getBytes());
        Expect.data(eve.zk.getData(b.root + "/auth", false, null), "x");
    }

    public static void addresses(Bench b) throws Exception {
        Client c = b.connect();
        create(c, b.root + "/here", new ACL(Perms.ALL, new Id("ip", "127.0.0.0/16")));
        create(c, b.root + "/away", new ACL(Perms.ALL, new Id("ip", "192.0.2.1")));
        Expect.data(c.zk.getData(b.root + "/here", false, null), "x");
        Expect.fails(Code.NOAUTH, () -> c.zk.getData(b.root + "/away", false, null));
    }

    public static void superuser(Bench b) throws Exception {
        Client c = b.connect();
        create(c, b.root + "/a", new ACL(Perms.READ, digest("nobody:x")));
        Expect.fails(Code.NOAUTH, () -> c.zk.getData(b.root + "/a", false, null));
        c.zk.addAuthInfo("digest", "super:test".getBytes());
        Expect.data(c.zk.getData(b.root + "/a", false, null), "x");
        Expect.equal(c.zk.setACL(b.root + "/a", Ids.OPEN_ACL_UNSAFE, 0).getAversion(), 1);
    }

    public static void listsThatAreRefused(Bench b) throws Exception {
        Client c = b.connect();
        Expect.fails(Code.INVALIDACL, () -> create(c, b.root + "/a"));
        Expect.fails(Code.INVALIDACL, () -> create(c, b.root + "/a", new ACL(Perms.ALL, Ids.AUTH_IDS)));
        Expect.fails(Code.INVALIDACL,
                () -> create(c, b.root + "/a", new ACL(Perms.ALL, new Id("unheard_of", "x"))));
        Expect.fails(Code.INVALIDACL,
                () -> c.zk.setACL(b.root,
                        Arrays.asList(new ACL(Perms.ALL, new Id("digest", "x"))), -1));
        Expect.fails(Code.BADVERSION, () -> c.zk.setACL(b.root, Ids.OPEN_ACL_UNSAFE, 4));
    }

    public static void anUnknownSchemeEndsTheSession(Bench b) throws Exception {
        Client c = b.connect();
        c.zk.addAuthInfo("unheard_of", "x".getBytes());
        c.events.state(KeeperState.AuthFailed);
        Expect.fails(Code.AUTHFAILED, () -> c.zk.exists("/", false));
    }

    public static void whoAmI(Bench b) throws Exception {
        Client c = b.connect();
        Expect.equal(c.zk.whoAmI(), List.of(new ClientInfo("ip", "127.0.0.1")));
        c.zk.addAuthInfo("digest", "kim:secret".getBytes());
        c.zk.addAuthInfo("digest", "super:test".getBytes());
        Expect.names(c.zk.whoAmI().stream().map(i -> i.getAuthScheme() + " " + i.getUser()).toList(),
                "ip 127.0.0.1", "digest kim", "digest super", "super ");
    }
}
