package conclave.bench;

/** The load that one process puts on the server in one round; see recipe_worker.hpp. */
public interface Load {
    int SESSION_MS = 30_000;
    int CONNECT_MS = 20_000;

    void start();

    long count();

    /** Ends the sessions and returns the result. The argument may be null. */
    String stop(String argument) throws Exception;
}
