package conclave.bench.lock;

import java.io.FileOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Threads that take and leave one lock; see contest.hpp. */
final class Contest {
    private static final long END_MS = 3_000;
    private static final int SHORT_LINE = 32;

    private final CountDownLatch open = new CountDownLatch(1);
    private final List<PeerSession> sessions = new ArrayList<>();
    private final List<Contender> contenders = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopped;

    Contest(String library, String servers, String path, int sessionCount, int contenderCount,
            int first) throws Exception {
        for (int i = 0; i < sessionCount; ++i) sessions.add(PeerSession.open(library, servers));
        for (PeerSession session : sessions) session.awaitConnection();
        for (int i = 0; i < contenderCount; ++i) {
            PeerLock lock = sessions.get(i % sessionCount).lock(path);
            contenders.add(new Contender(this, lock, first + i));
        }
        for (Contender contender : contenders) threads.add(start(contender));
    }

    private static Thread start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    boolean stopped() {
        return stopped;
    }

    void awaitOpen() throws InterruptedException {
        open.await();
    }

    void go() {
        open.countDown();
    }

    /** A round with an error in it is no measurement; but closed sessions leave some behind. */
    void failed(Throwable e) {
        if (stopped) return;
        e.printStackTrace();
        System.exit(1);
    }

    int count() {
        int sum = 0;
        for (Contender contender : contenders) sum += contender.count();
        return sum;
    }

    void stop(String file) throws Exception {
        stopped = true;
        go();
        try (FileOutputStream out = new FileOutputStream(file)) {
            for (Contender contender : contenders) out.write(contender.records().array());
        }
        if (threads.size() <= SHORT_LINE) join(threads); // it drains; a long one takes too long
        List<Thread> closers = new ArrayList<>();
        for (PeerSession session : sessions) closers.add(start(() -> close(session)));
        join(closers);
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
