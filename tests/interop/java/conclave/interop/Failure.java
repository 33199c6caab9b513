package conclave.interop;

/** Something is not as it should be. */
@SuppressWarnings("serial")
final class Failure extends Error {
    Failure(String what) {
        super(what);
    }
}
