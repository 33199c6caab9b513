package conclave.interop;

import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryForever;

/** Clients of Curator 5.4.0, started and connected. */
final class Curators {
    private Curators() {}

    static CuratorFramework connect(Bench b) throws Exception {
        return connect(b, b.server.connectString(), 20_000);
    }

    static CuratorFramework connect(Bench b, String connectString, int timeoutMs) throws Exception {
        CuratorFramework curator = b.keep(CuratorFrameworkFactory.builder()
                .connectString(connectString)
                .sessionTimeoutMs(timeoutMs)
                .connectionTimeoutMs(5_000)
                .retryPolicy(new RetryForever(50))
                .build());
        curator.start();
        Expect.that(curator.blockUntilConnected((int) Expect.PATIENCE_MS, TimeUnit.MILLISECONDS),
                "Curator does not get a connection");
        return curator;
    }
}
