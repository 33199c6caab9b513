package conclave.interop;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs checks against a server that it starts itself (see {@link TestServer}): the suites named on
 * the command line, or only one check of them, as {@code Watches.persistentOnesStay}. A suite is a
 * class in this package, and each of its public static methods that take a {@link Bench} is a check.
 *
 * <p>Prints "ok NAME" or "FAIL NAME: reason" for each, and exits with 1 if one failed.
 */
public final class Main {
    private static final long SECONDS_PER_CHECK = 120;
    /** The number of parallel checks. They use little CPU time. */
    private static final int CHECKS = 4;

    private Main() {}

    public static void main(String[] names) throws Exception {
        ExecutorService workers = Executors.newFixedThreadPool(CHECKS);
        List<Future<Boolean>> results = new ArrayList<>();
        int failed = 0;
        try (TestServer server = new TestServer()) {
            for (String name : names) {
                String suite = name.contains(".") ? name.substring(0, name.indexOf('.')) : name;
                for (Method check : checksOf(Class.forName("conclave.interop." + suite))) {
                    String full = suite + "." + check.getName();
                    if (name.equals(suite) || name.equals(full))
                        results.add(workers.submit(() -> passes(full, check, server)));
                }
            }
            for (Future<Boolean> passed : results) if (!passed.get()) ++failed;
        }
        System.out.printf("%d checks, %d failed%n", results.size(), failed);
        System.exit(failed == 0 && !results.isEmpty() ? 0 : 1); // clients may still have threads
    }

    private static List<Method> checksOf(Class<?> suite) {
        return Arrays.stream(suite.getDeclaredMethods())
                .filter(m -> Modifier.isPublic(m.getModifiers()))
                .filter(m -> Arrays.equals(m.getParameterTypes(), new Class<?>[] {Bench.class}))
                .sorted(Comparator.comparing(Method::getName))
                .toList();
    }

    private static boolean passes(String name, Method check, TestServer server) {
        long start = System.nanoTime();
        FutureTask<Void> task = new FutureTask<>(() -> {
            try (Bench bench = new Bench(server)) {
                check.invoke(null, bench);
            }
            return null;
        });
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
        Throwable problem = null;
        try {
            task.get(SECONDS_PER_CHECK, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            problem = new Failure("did not end within " + SECONDS_PER_CHECK + " s");
            problem.setStackTrace(thread.getStackTrace());
        } catch (ExecutionException e) {
            problem = e.getCause();
            if (problem instanceof InvocationTargetException) problem = problem.getCause();
        } catch (InterruptedException e) {
            problem = e;
        }
        if (problem == null) {
            System.out.printf("ok %s (%d ms)%n", name, (System.nanoTime() - start) / 1_000_000);
        } else {
            StringWriter trace = new StringWriter();
            problem.printStackTrace(new PrintWriter(trace));
            System.out.print("FAIL " + name + ": " + trace);
        }
        return problem == null;
    }
}
