package conclave.bench;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads commands from standard input and prints the replies; see recipe_worker.hpp. */
public final class Worker {
    /** Creates the load of a round from the arguments of `prepare`. */
    public interface LoadMaker {
        Load make(String[] arguments) throws Exception;
    }

    private Worker() {}

    public static void serve(LoadMaker maker) throws Exception {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        Load load = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "prepare":
                    load = maker.make(Arrays.copyOfRange(words, 1, words.length));
                    System.out.println("ready");
                    break;
                case "start":
                    load.start();
                    System.out.println("started");
                    break;
                case "count":
                    System.out.println("count " + load.count());
                    break;
                case "stop":
                    System.out.println("stopped " + load.stop(words.length > 1 ? words[1] : null));
                    load = null;
                    break;
                default:
                    throw new IllegalArgumentException("no command " + line);
            }
        }
        System.exit(0);
    }
}
