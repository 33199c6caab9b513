package conclave.bench.lock;

import conclave.bench.Worker;

/** A worker for Curator or for ZooKeeper's recipes, depending on the argument. */
public final class LockWorker {
    private LockWorker() {}

    public static void main(String[] args) throws Exception {
        Worker.serve(words -> new LockLoad(args[0], words[1], words[2], Integer.parseInt(words[3]),
                Integer.parseInt(words[4]), Integer.parseInt(words[5])));
    }
}
