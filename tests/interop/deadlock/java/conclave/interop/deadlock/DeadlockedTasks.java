package conclave.interop.deadlock;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryForever;

/** Acquires locks with Curator and waits for others; see deadlocked_tasks.cpp. */
public final class DeadlockedTasks {
    private static final int WORDS_OF_TASK = 5;

    private DeadlockedTasks() {}

    public static void main(String[] words) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(words[0], new RetryForever(50));
        client.start();
        client.blockUntilConnected();
        int tasks = (words.length - 1) / WORDS_OF_TASK;
        CountDownLatch allHold = new CountDownLatch(tasks);
        CountDownLatch mayWait = new CountDownLatch(1);
        for (int i = 0; i < tasks; ++i) {
            int task = 1 + i * WORDS_OF_TASK;
            byte[] name = words[task].getBytes(StandardCharsets.UTF_8);
            new Thread(() -> {
                try {
                    new NamedMutex(client, words[task + 1], name).acquire();
                    allHold.countDown();
                    mayWait.await();
                    new NamedMutex(client, words[task + 3], name).acquire();
                } catch (Throwable e) {
                    e.printStackTrace();
                    System.exit(1);
                }
            }).start();
        }
        allHold.await();
        System.out.println("holds");
        System.out.flush();
        if (System.in.read() < 0) System.exit(1);
        mayWait.countDown();
    }

    /** Stores the name in the lock's node, as programs with Curator do to show the owner. */
    private static final class NamedMutex extends InterProcessMutex {
        private final byte[] name;

        NamedMutex(CuratorFramework client, String path, byte[] name) {
            super(client, path);
            this.name = name;
        }

        @Override
        protected byte[] getLockNodeBytes() {
            return name;
        }
    }
}
