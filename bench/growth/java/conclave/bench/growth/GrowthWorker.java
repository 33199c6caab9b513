package conclave.bench.growth;

import conclave.bench.Worker;

/** Curator's worker of the growth benchmark. */
public final class GrowthWorker {
    private GrowthWorker() {}

    public static void main(String[] args) throws Exception {
        Worker.serve(words -> new GrowthLoad(words[0], words[1], Integer.parseInt(words[2])));
    }
}
