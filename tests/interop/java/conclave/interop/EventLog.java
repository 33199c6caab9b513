package conclave.interop;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;

/** A watcher that stores node events and session events separately, in order. */
final class EventLog implements Watcher {
    private final BlockingQueue<WatchedEvent> nodes = new LinkedBlockingQueue<>();
    private final BlockingQueue<KeeperState> states = new LinkedBlockingQueue<>();

    @Override
    public void process(WatchedEvent event) {
        if (event.getType() == EventType.None) states.add(event.getState());
        else nodes.add(event);
    }

    /** Expects this as the next node event. */
    EventLog next(EventType type, String path) throws InterruptedException {
        WatchedEvent event = nodes.poll(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
        Expect.that(event != null, "no event came, expected " + type + " of " + path);
        Expect.equal(event.getType() + " of " + event.getPath(), type + " of " + path);
        return this;
    }

    /** Expects no further node event. Must be called after {@link Client#catchUp}. */
    void nothingMore() {
        Expect.that(nodes.isEmpty(), "unexpected: " + nodes);
    }

    /** Waits until the session has reached this state since the last call. */
    void state(KeeperState wanted) throws InterruptedException {
        KeeperState state;
        do {
            state = states.poll(Expect.PATIENCE_MS, TimeUnit.MILLISECONDS);
            Expect.that(state != null, "the session never became " + wanted);
        } while (state != wanted);
    }

    /** Expects no change of the session's state within this time. */
    void noStateFor(long milliseconds) throws InterruptedException {
        KeeperState state = states.poll(milliseconds, TimeUnit.MILLISECONDS);
        Expect.that(state == null, "unexpected state: " + state);
    }
}
