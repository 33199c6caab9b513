package conclave.bench.lock;

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
        Contest contest = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "run":
                    contest = new Contest(args[0], words[2], words[3], Integer.parseInt(words[4]),
                            Integer.parseInt(words[5]), Integer.parseInt(words[6]));
                    answer("ready");
                    break;
                case "go":
                    contest.go();
                    answer("going");
                    break;
                case "count":
                    answer("count " + contest.count());
                    break;
                case "stop":
                    contest.stop(words[1]);
                    contest = null;
                    answer("stopped");
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
