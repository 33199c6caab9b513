package conclave.bench.queue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * The side of Curator or of ZooKeeper's recipes, which the argument tells; contestant.hpp tells what
 * it is told and what it answers.
 */
public final class Contestant {
    private Contestant() {}

    public static void main(String[] args) throws Exception {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        Flow flow = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "run":
                    flow = new Flow(args[0], words[2], words[3], Integer.parseInt(words[4]),
                            Integer.parseInt(words[5]), Long.parseLong(words[6]),
                            Long.parseLong(words[7]), Integer.parseInt(words[8]));
                    answer("ready");
                    break;
                case "go":
                    flow.go();
                    answer("going");
                    break;
                case "count":
                    answer("count " + flow.count());
                    break;
                case "stop":
                    answer("stopped " + flow.stop());
                    flow = null;
                    break;
                default:
                    throw new IllegalArgumentException("no command " + line);
            }
        }
        System.exit(0);
    }

    private static void answer(String line) {
        System.out.println(line);
    }
}
