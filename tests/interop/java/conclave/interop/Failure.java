package conclave.interop;

/** A failed expectation. */
@SuppressWarnings("serial")
final class Failure extends Error {
    Failure(String what) {
        super(what);
    }
}
