package conclave.interop.locks;

import java.io.File;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.DeleteTxn;
import org.apache.zookeeper.txn.TxnHeader;

/**
 * SetCounter DATA PARENT COUNT: writes the creation and deletion of a child to the log of a stopped
 * server, as if it were the COUNT-th child. Creating two thousand million children takes too long.
 */
public final class SetCounter {
    private SetCounter() {}

    public static void main(String[] arguments) throws Exception {
        final File folder = new File(arguments[0], "version-2");
        final String child = arguments[1] + "/passing";
        final int count = Integer.parseInt(arguments[2]);
        final long now = System.currentTimeMillis();
        try (FileTxnLog log = new FileTxnLog(folder)) {
            final long last = log.getLastLoggedZxid();
            log.append(
                    new TxnHeader(1, 1, last + 1, now, OpCode.create),
                    new CreateTxn(child, new byte[0], Ids.OPEN_ACL_UNSAFE, false, count));
            log.append(new TxnHeader(1, 2, last + 2, now, OpCode.delete), new DeleteTxn(child));
            log.commit();
        }
    }
}
