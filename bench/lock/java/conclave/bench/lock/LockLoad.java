package conclave.bench.lock;

import conclave.bench.Load;
import java.io.FileOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Threads that acquire and release one lock; see lock_load.hpp. */
final class LockLoad implements Load {
    private static final long END_MS = 3_000;
    private static final int SHORT_WAIT_QUEUE = 32;

    private final CountDownLatch started = new CountDownLatch(1);
    private final List<PeerSession> sessions = new ArrayList<>();
    private final List<Contender> contenders = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopped;

    LockLoad(String library, String servers, String path, int sessionCount, int contenderCount,
            int first) throws Exception {
        for (int i = 0; i < sessionCount; ++i) sessions.add(PeerSession.open(library, servers));
        for (PeerSession session : sessions) session.awaitConnection();
        for (int i = 0; i < contenderCount; ++i) {
            PeerSession.Lock lock = sessions.get(i % sessionCount).lock(path);
            contenders.add(new Contender(this, lock, first + i));
        }
        for (Contender contender : contenders) threads.add(startThread(contender));
    }

    private static Thread startThread(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    boolean stopped() {
        return stopped;
    }

    void awaitStart() throws InterruptedException {
        started.await();
    }

    @Override
    public void start() {
        started.countDown();
    }

    /** Exits, because a round with an error cannot be used. Ignores errors of closed sessions. */
    void failed(Throwable e) {
        if (stopped) return;
        e.printStackTrace();
        System.exit(1);
    }

    @Override
    public long count() {
        long sum = 0;
        for (Contender contender : contenders) sum += contender.count();
        return sum;
    }

    @Override
    public String stop(String file) throws Exception {
        stopped = true;
        start();
        try (FileOutputStream out = new FileOutputStream(file)) {
            for (Contender contender : contenders) out.write(contender.records().array());
        }
        if (threads.size() <= SHORT_WAIT_QUEUE) join(threads); // takes long for a long wait queue
        List<Thread> closers = new ArrayList<>();
        for (PeerSession session : sessions) closers.add(startThread(() -> close(session)));
        join(closers);
        return "";
    }

    private static void close(PeerSession session) {
        try {
            session.close();
        } catch (Exception e) {
            e.printStackTrace();
        }
    }

    private static void join(List<Thread> some) throws InterruptedException {
        long end = System.currentTimeMillis() + END_MS;
        for (Thread thread : some) thread.join(Math.max(1, end - System.currentTimeMillis()));
    }
}
