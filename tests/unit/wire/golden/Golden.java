// Writes golden.txt: records of ZooKeeper's protocol, encoded by ZooKeeper's own classes.
//
// To generate it again (Debian: openjdk-17-jdk-headless, libzookeeper-java), in this folder:
//
//   java -cp /usr/share/java/zookeeper.jar:/usr/share/java/zookeeper-jute.jar:/usr/share/java/slf4j-api.jar \
//     Golden.java > golden.txt
//
// One record per line: its name, a slash and its variant if there are several, and its bytes.

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.jute.BinaryOutputArchive;
import org.apache.jute.Record;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.MultiOperationRecord;
import org.apache.zookeeper.MultiResponse;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.ClientInfo;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.proto.*;

public class Golden {
    static final byte[] NO_DATA = {};
    static final List<ACL> NO_ACL = Collections.emptyList();
    static final List<String> NO_NAMES = Collections.emptyList();

    static byte[] bytes(int... values) {
        byte[] result = new byte[values.length];
        for (int i = 0; i < values.length; i++) result[i] = (byte) values[i];
        return result;
    }

    static byte[] counted(int n) {
        byte[] result = new byte[n];
        for (int i = 0; i < n; i++) result[i] = (byte) (i + 1);
        return result;
    }

    static byte[] text(String s) { return s.getBytes(StandardCharsets.UTF_8); }

    static List<String> names(String... s) { return Arrays.asList(s); }

    static List<ACL> acl() {
        return Arrays.asList(new ACL(31, new Id("world", "anyone")), new ACL(5, new Id("digest", "u:h=")));
    }

    static Stat stat() {
        return new Stat(0x0102030405060708L, 0x1112131415161718L, 0x2122232425262728L, 0x3132333435363738L,
            0x41424344, 0x51525354, 0x61626364, 0x7172737475767778L, 0x01020304, 0x11121314, 0x2122232425262729L);
    }

    static Stat negativeStat() {
        return new Stat(-1, -2, -3, -4, -5, -6, -7, Long.MIN_VALUE, Integer.MIN_VALUE, -10, -11);
    }

    static Stat largestStat() {
        long l = Long.MAX_VALUE;
        int i = Integer.MAX_VALUE;
        return new Stat(l, l, l, l, i, i, i, l, i, i, l);
    }

    static void print(String name, byte[] encoded) {
        StringBuilder line = new StringBuilder(name).append(' ');
        for (byte b : encoded) line.append(String.format("%02x", b & 0xff));
        System.out.println(line);
    }

    static void put(String name, Record record) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        record.serialize(BinaryOutputArchive.getArchive(out), "r");
        print(name, out.toByteArray());
    }

    // The byte that ClientCnxn and the servers write after the handshake's record.
    static void putFlag(String name, boolean flag) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        BinaryOutputArchive.getArchive(out).writeBool(flag, "readOnly");
        print(name, out.toByteArray());
    }

    static void handshake() throws Exception {
        put("connect_request", new ConnectRequest(0, 0x0102030405060708L, 30000, 0x1112131415161718L, counted(16)));
        put("connect_request/new", new ConnectRequest(0, 0, 10000, 0, new byte[16]));
        put("connect_request/null", new ConnectRequest(Integer.MIN_VALUE, Long.MIN_VALUE, -1, -2, null));
        put("connect_request/largest",
            new ConnectRequest(Integer.MAX_VALUE, Long.MAX_VALUE, Integer.MAX_VALUE, Long.MAX_VALUE, NO_DATA));
        put("connect_response", new ConnectResponse(0, 30000, 0x1112131415161718L, counted(16)));
        put("connect_response/expired", new ConnectResponse(0, 0, 0, new byte[16]));
        put("connect_response/null", new ConnectResponse(-1, Integer.MIN_VALUE, Long.MIN_VALUE, null));
        putFlag("read_only_flag", true);
        putFlag("read_only_flag/no", false);
    }

    static void headers() throws Exception {
        put("request_header", new RequestHeader(0x01020304, 4));
        put("request_header/ping", new RequestHeader(-2, 11));
        put("request_header/close", new RequestHeader(Integer.MAX_VALUE, -11));
        put("reply_header", new ReplyHeader(0x01020304, 0x0102030405060708L, 0));
        put("reply_header/event", new ReplyHeader(-1, -1, 0));
        put("reply_header/no_node", new ReplyHeader(Integer.MAX_VALUE, Long.MAX_VALUE, -101));
        put("watcher_event", new WatcherEvent(2, 3, "/a/b"));
        put("watcher_event/null", new WatcherEvent(-1, -112, null));
    }

    static void parts() throws Exception {
        put("stat_record", stat());
        put("stat_record/negative", negativeStat());
        put("stat_record/largest", largestStat());
        put("acl_record", new ACL(31, new Id("world", "anyone")));
        put("acl_record/null", new ACL(-1, new Id(null, null)));
        put("acl_record/empty", new ACL(0, new Id("", "")));
        put("identity_record", new ClientInfo("digest", "user"));
        put("identity_record/null", new ClientInfo(null, null));
    }

    static void requests() throws Exception {
        put("create_request", new CreateRequest("/a", bytes(0, 1, 0xff), acl(), 3));
        put("create_request/null", new CreateRequest(null, null, NO_ACL, -1));
        put("create_request/empty", new CreateRequest("", NO_DATA, NO_ACL, Integer.MAX_VALUE));
        put("create_request/null_acl", new CreateRequest("/a", NO_DATA, null, 0));
        put("create_request/unicode", new CreateRequest("/\u00e9\u4e16", text("\u00fc"), acl(), 0));
        put("create_ttl_request", new CreateTTLRequest("/ttl", text("data"), acl(), 5, 0x0102030405060708L));
        put("create_ttl_request/null", new CreateTTLRequest(null, null, NO_ACL, 6, -1));
        put("path_version_request/delete", new DeleteRequest("/a", 7));
        put("path_version_request/check", new CheckVersionRequest("/a/b", -1));
        put("path_version_request/null", new DeleteRequest(null, Integer.MIN_VALUE));
        put("path_watch_request/exists", new ExistsRequest("/a", true));
        put("path_watch_request/get_data", new GetDataRequest("/a", false));
        put("path_watch_request/get_children", new GetChildrenRequest("/a", true));
        put("path_watch_request/get_children2", new GetChildren2Request(null, false));
        put("set_data_request", new SetDataRequest("/a", text("new"), 3));
        put("set_data_request/null", new SetDataRequest("/a", null, -1));
        put("set_data_request/empty", new SetDataRequest("", NO_DATA, Integer.MAX_VALUE));
        put("path_record/get_acl", new GetACLRequest("/a"));
        put("path_record/sync", new SyncRequest("/"));
        put("path_record/sync_response", new SyncResponse("/a"));
        put("path_record/get_ephemerals", new GetEphemeralsRequest("/pre"));
        put("path_record/get_all_children_number", new GetAllChildrenNumberRequest("/a/b/c"));
        put("path_record/null", new GetACLRequest(null));
        put("set_acl_request", new SetACLRequest("/a", acl(), 2));
        put("set_acl_request/empty", new SetACLRequest(null, NO_ACL, -1));
        put("auth_request", new AuthPacket(0, "digest", text("user:password")));
        put("auth_request/null", new AuthPacket(-1, null, null));
        put("path_type_request/add_watch", new AddWatchRequest("/a", 1));
        put("path_type_request/remove_watches", new RemoveWatchesRequest("/a", 3));
        put("path_type_request/check_watches", new CheckWatchesRequest(null, -1));
        put("set_watches_request",
            new SetWatches(0x0102030405060708L, names("/d1", "/d2"), names("/e"), names("/c")));
        put("set_watches_request/empty", new SetWatches(-1, NO_NAMES, NO_NAMES, NO_NAMES));
        put("set_watches2_request", new SetWatches2(Long.MAX_VALUE, names("/d"), names("/e", "/f"), names("/c"),
            names("/p"), names("/r", "/s")));
        put("set_watches2_request/empty",
            new SetWatches2(Long.MIN_VALUE, NO_NAMES, NO_NAMES, NO_NAMES, NO_NAMES, NO_NAMES));
        put("sasl_record/request", new GetSASLRequest(bytes(1, 0, 0xfe)));
        put("sasl_record/response", new SetSASLResponse(NO_DATA));
        put("sasl_record/null", new GetSASLRequest(null));
    }

    static void responses() throws Exception {
        put("create_response", new CreateResponse("/a-0000000001"));
        put("create_response/null", new CreateResponse(null));
        put("create2_response", new Create2Response("/a", stat()));
        put("create2_response/negative", new Create2Response("", negativeStat()));
        put("stat_response/exists", new ExistsResponse(stat()));
        put("stat_response/set_data", new SetDataResponse(negativeStat()));
        put("stat_response/set_acl", new SetACLResponse(largestStat()));
        put("get_data_response", new GetDataResponse(bytes(0xde, 0xad, 0), stat()));
        put("get_data_response/null", new GetDataResponse(null, negativeStat()));
        put("get_data_response/empty", new GetDataResponse(NO_DATA, largestStat()));
        put("get_acl_response", new GetACLResponse(acl(), stat()));
        put("get_acl_response/empty", new GetACLResponse(NO_ACL, negativeStat()));
        put("names_response/get_children", new GetChildrenResponse(names("a", "", "\u4e16")));
        put("names_response/get_ephemerals", new GetEphemeralsResponse(names("/a/b", "/c")));
        put("names_response/empty", new GetChildrenResponse(NO_NAMES));
        put("names_response/null_name", new GetChildrenResponse(names("a", null)));
        put("names_response/null_list", new GetChildrenResponse(null));
        put("get_children2_response", new GetChildren2Response(names("x", "yy"), stat()));
        put("get_children2_response/empty", new GetChildren2Response(NO_NAMES, negativeStat()));
        put("get_all_children_number_response", new GetAllChildrenNumberResponse(0x01020304));
        put("get_all_children_number_response/negative", new GetAllChildrenNumberResponse(-1));
        put("who_am_i_response",
            new WhoAmIResponse(Arrays.asList(new ClientInfo("ip", "127.0.0.1"), new ClientInfo("digest", "u"))));
        put("who_am_i_response/empty", new WhoAmIResponse(Collections.<ClientInfo>emptyList()));
    }

    static void transactions() throws Exception {
        put("multi_header", new MultiHeader(14, false, -1));
        put("multi_header/end", new MultiHeader(-1, true, -1));
        put("multi_header/largest", new MultiHeader(Integer.MAX_VALUE, false, Integer.MIN_VALUE));

        put("multi_request/write", new MultiOperationRecord(Arrays.asList(
            Op.create("/c", text("d"), acl(), CreateMode.EPHEMERAL_SEQUENTIAL),
            Op.create("/box", NO_DATA, acl(), CreateMode.CONTAINER),
            Op.create("/ttl", null, acl(), CreateMode.PERSISTENT_WITH_TTL, 60000L),
            Op.delete("/x", -1),
            Op.setData("/s", bytes(0xff), 4),
            Op.check("/k", Integer.MAX_VALUE))));
        put("multi_request/read", new MultiOperationRecord(Arrays.asList(Op.getData("/g"), Op.getChildren("/h"))));
        put("multi_request/empty", new MultiOperationRecord());

        MultiResponse done = new MultiResponse();
        done.add(new OpResult.CreateResult("/c0000000001"));
        done.add(new OpResult.CreateResult("/box", stat()));
        done.add(new OpResult.DeleteResult());
        done.add(new OpResult.SetDataResult(negativeStat()));
        done.add(new OpResult.CheckResult());
        put("multi_response/done", done);

        MultiResponse failed = new MultiResponse();
        failed.add(new OpResult.ErrorResult(0));
        failed.add(new OpResult.ErrorResult(-101));
        failed.add(new OpResult.ErrorResult(-2));
        put("multi_response/failed", failed);

        MultiResponse read = new MultiResponse();
        read.add(new OpResult.GetDataResult(text("data"), stat()));
        read.add(new OpResult.GetChildrenResult(names("a", "b")));
        read.add(new OpResult.ErrorResult(-102));
        put("multi_response/read", read);
        put("multi_response/empty", new MultiResponse());
    }

    public static void main(String[] arguments) throws Exception {
        handshake();
        headers();
        parts();
        requests();
        responses();
        transactions();
    }
}
