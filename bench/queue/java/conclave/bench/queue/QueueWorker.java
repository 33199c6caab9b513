package conclave.bench.queue;

import conclave.bench.Worker;

/** A worker for Curator or for ZooKeeper's recipes, depending on the argument. */
public final class QueueWorker {
    private QueueWorker() {}

    public static void main(String[] args) throws Exception {
        Worker.serve(words -> new QueueLoad(args[0], words[1], words[2], Integer.parseInt(words[3]),
                Integer.parseInt(words[4]), Long.parseLong(words[5]), Long.parseLong(words[6]),
                Integer.parseInt(words[7])));
    }
}
