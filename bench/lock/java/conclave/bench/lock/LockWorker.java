package conclave.bench.lock;

import conclave.bench.Worker;

/** The worker of Curator or of ZooKeeper's recipes, as the argument names it. */
public final class LockWorker {
    private LockWorker() {}

    public static void main(String[] args) throws Exception {
        Worker.serve(words -> new LockLoad(args[0], words[1], words[2], Integer.parseInt(words[3]),
                Integer.parseInt(words[4]), Integer.parseInt(words[5])));
    }
}
