import java.io.IOException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

/** What a shell script would run to hold a lock of Curator's around a command: SERVER PATH COMMAND... */
public final class CuratorLock {
  public static void main(String[] args) throws Exception {
    try (CuratorFramework client =
        CuratorFrameworkFactory.newClient(args[0], new RetryOneTime(100))) {
      client.start();
      InterProcessMutex lock = new InterProcessMutex(client, args[1]);
      lock.acquire();
      try {
        String[] command = java.util.Arrays.copyOfRange(args, 2, args.length);
        System.exit(run(command));
      } finally {
        lock.release();
      }
    }
  }

  private static int run(String[] command) throws IOException, InterruptedException {
    return new ProcessBuilder(command).inheritIO().start().waitFor();
  }
}
