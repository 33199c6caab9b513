package conclave.bench;

/** The load that one process generates in one round; see recipe_worker.hpp. */
public interface Load {
    int SESSION_MS = 30_000;
    int CONNECT_MS = 20_000;

    void start();

    long count();

    /** Closes the sessions and returns the result. The argument may be null. */
    String stop(String argument) throws Exception;
}
