import java.util.Arrays;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

/** Runs a command while holding a lock of Curator: SERVER PATH COMMAND... */
public final class CuratorLock {
  public static void main(String[] args) throws Exception {
    int code;
    try (CuratorFramework client =
        CuratorFrameworkFactory.newClient(args[0], new RetryOneTime(100))) {
      client.start();
      InterProcessMutex lock = new InterProcessMutex(client, args[1]);
      lock.acquire();
      try {
        String[] command = Arrays.copyOfRange(args, 2, args.length);
        code = new ProcessBuilder(command).inheritIO().start().waitFor();
      } finally {
        lock.release();
      }
    }
    // Only after the session is closed. Otherwise the lock would be held until the session timeout.
    System.exit(code);
  }
}
