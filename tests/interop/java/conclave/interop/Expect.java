package conclave.interop;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** Expectations. They throw {@link Failure} if they are not met. */
final class Expect {
    /** The time limit for something that must happen. A passing check does not reach it. */
    static final long PATIENCE_MS = 30_000;

    private Expect() {}

    static void that(boolean condition, String what) {
        if (!condition) throw new Failure(what);
    }

    static void equal(Object actual, Object expected) {
        if (!Objects.deepEquals(actual, expected))
            throw new Failure("expected " + show(expected) + ", got " + show(actual));
    }

    static void sameStat(Stat actual, Stat expected) {
        equal(actual.toString().trim(), expected.toString().trim());
    }

    /** Expects these names in any order. */
    static void names(Collection<String> actual, String... expected) {
        equal(actual.stream().sorted().toList(), Arrays.stream(expected).sorted().toList());
    }

    static void data(byte[] actual, String expected) {
        equal(actual == null ? null : new String(actual), expected);
    }

    interface Action {
        void run() throws Exception;
    }

    /** Expects that the action fails with this code. */
    static void fails(KeeperException.Code code, Action action) throws Exception {
        try {
            action.run();
        } catch (KeeperException e) {
            equal(e.code(), code);
            return;
        }
        throw new Failure("expected " + code + ", got no failure");
    }

    /** Polls, for conditions that cause no event. */
    static void becomes(Callable<Boolean> condition, String what) throws Exception {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        while (!condition.call()) {
            that(System.nanoTime() < end, "never: " + what);
            Thread.sleep(5);
        }
    }

    private static String show(Object value) {
        if (value instanceof byte[] bytes) return Arrays.toString(bytes);
        if (value instanceof List<?> list) return list.size() + " " + list;
        return String.valueOf(value);
    }
}
