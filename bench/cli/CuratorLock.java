import java.util.Arrays;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

/** What a shell script would run to hold a lock of Curator's around a command: SERVER PATH COMMAND... */
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
    System.exit(code); // not before: the lock would stay until the session's timeout
  }
}
