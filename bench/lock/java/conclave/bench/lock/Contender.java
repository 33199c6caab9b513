package conclave.bench.lock;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** One thread that acquires and releases the lock, and its records (lock_cycle in history.hpp). */
final class Contender implements Runnable {
    private static final int FIELDS = 5;

    private final LockLoad load;
    private final PeerSession.Lock lock;
    private final long number;
    private long[] records = new long[FIELDS * 1024];
    private volatile int count; // written after the records it counts

    Contender(LockLoad load, PeerSession.Lock lock, long number) {
        this.load = load;
        this.lock = lock;
        this.number = number;
    }

    @Override
    public void run() {
        try {
            while (!load.stopped()) cycle();
        } catch (Throwable e) {
            load.failed(e);
        }
    }

    private void cycle() throws Exception {
        long lockCalled = System.nanoTime();
        lock.acquire();
        long acquired = System.nanoTime();
        load.awaitStart();
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
