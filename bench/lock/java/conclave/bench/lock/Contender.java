package conclave.bench.lock;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** One thread that takes and leaves the lock, and what it recorded (cycle.hpp). */
final class Contender implements Runnable {
    private static final int FIELDS = 5;

    private final Contest contest;
    private final PeerLock lock;
    private final long number;
    private long[] records = new long[FIELDS * 1024];
    private volatile int count; // written after the records it counts

    Contender(Contest contest, PeerLock lock, long number) {
        this.contest = contest;
        this.lock = lock;
        this.number = number;
    }

    @Override
    public void run() {
        try {
            while (!contest.stopped()) cycle();
        } catch (Throwable e) {
            contest.failed(e);
        }
    }

    private void cycle() throws Exception {
        long lockCalled = System.nanoTime();
        lock.acquire();
        long acquired = System.nanoTime();
        contest.awaitOpen();
        long unlockCalled = System.nanoTime();
        lock.release();
        record(lockCalled, acquired, unlockCalled, System.nanoTime());
    }

    private void record(long lockCalled, long acquired, long unlockCalled, long released) {
        int at = count * FIELDS;
        if (at == records.length) records = Arrays.copyOf(records, at * 2);
        records[at] = number;
        records[at + 1] = lockCalled;
        records[at + 2] = acquired;
        records[at + 3] = unlockCalled;
        records[at + 4] = released;
        count = count + 1;
    }

    int count() {
        return count;
    }

    ByteBuffer records() {
        int length = count * FIELDS;
        ByteBuffer bytes = ByteBuffer.allocate(length * Long.BYTES).order(ByteOrder.nativeOrder());
        bytes.asLongBuffer().put(records, 0, length);
        return bytes;
    }
}
