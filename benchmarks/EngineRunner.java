import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import io.debezium.engine.format.KeyValueHeaderChangeEventFormat;
import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.FileReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * PROPERTIES COUNT [FILE]: runs the engine until COUNT change events (tombstones apart) reached the sink, which counts
 * them and writes their values as lines when FILE is given. Says "ready", waits for a line, says "start MILLIS",
 * "done MILLIS EVENTS BYTES".
 */
public class EngineRunner {
    static long events;
    static long bytes;

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (FileReader file = new FileReader(arguments[0], StandardCharsets.UTF_8)) {
            properties.load(file);
        }
        long wanted = Long.parseLong(arguments[1]);
        OutputStream lines =
                arguments.length > 2 ? new BufferedOutputStream(new FileOutputStream(arguments[2])) : null;
        ExecutorService executor = Executors.newSingleThreadExecutor();
        Object done = new Object();
        DebeziumEngine<?> engine = DebeziumEngine.create(
                        KeyValueHeaderChangeEventFormat.of(Json.class, Json.class, Json.class))
                .using(properties)
                .using((success, message, error) -> {
                    if (!success) {
                        System.out.println("failed " + message);
                        System.exit(1);
                    }
                })
                .notifying((batch, committer) -> {
                    for (ChangeEvent<String, String> event : batch) {
                        String value = event.value();
                        if (value != null) {
                            events++;
                            bytes += value.length();
                            write(lines, value);
                        }
                        committer.markProcessed(event);
                    }
                    write(lines, null);
                    committer.markBatchFinished();
                    if (events >= wanted) {
                        synchronized (done) {
                            done.notifyAll();
                        }
                    }
                })
                .build();
        System.out.println("ready");
        System.in.read();
        System.out.println("start " + System.currentTimeMillis());
        executor.execute(engine);
        synchronized (done) {
            while (events < wanted) {
                done.wait(1000);
            }
        }
        System.out.println("done " + System.currentTimeMillis() + " " + events + " " + bytes);
        System.in.read();
        Runtime.getRuntime().halt(0);
    }

    /** A value as a line; null flushes. */
    static void write(OutputStream lines, String value) {
        try {
            if (lines != null && value == null) {
                lines.flush();
            } else if (lines != null) {
                lines.write(value.getBytes(StandardCharsets.UTF_8));
                lines.write('\n');
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
