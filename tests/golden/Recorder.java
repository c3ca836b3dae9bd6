import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.Header;
import io.debezium.engine.format.Json;
import io.debezium.engine.format.KeyValueHeaderChangeEventFormat;
import java.io.BufferedReader;
import java.io.FileReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Reads "run PROPERTIES OUTPUT" and "stop" lines; answers "stopped MESSAGE". An engine that ends makes a file
 * PROPERTIES.ended. One JVM for all workloads.
 */
public class Recorder {
    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ExecutorService executor = Executors.newSingleThreadExecutor();
        DebeziumEngine<?> engine = null;
        PrintStream output = null;
        String[] told = {""};
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split("\t");
            if (words[0].equals("run")) {
                Properties properties = new Properties();
                try (FileReader file = new FileReader(words[1], StandardCharsets.UTF_8)) {
                    properties.load(file);
                }
                PrintStream lines = new PrintStream(words[2], StandardCharsets.UTF_8);
                output = lines;
                told[0] = "";
                Path ended = Path.of(words[1] + ".ended");
                Files.deleteIfExists(ended);
                engine = DebeziumEngine.create(
                                KeyValueHeaderChangeEventFormat.of(Json.class, Json.class, Json.class))
                        .using(properties)
                        .using((success, message, error) -> {
                            if (!success) {
                                told[0] = String.valueOf(message).replace('\n', ' ');
                            }
                            try {
                                Files.createFile(ended);
                            } catch (IOException exception) {
                                throw new UncheckedIOException(exception);
                            }
                        })
                        .notifying((events, committer) -> {
                            for (ChangeEvent<String, String> event : events) {
                                lines.println(render(event));
                                committer.markProcessed(event);
                            }
                            lines.flush();
                            committer.markBatchFinished();
                        })
                        .build();
                executor.execute(engine);
            } else if (words[0].equals("stop")) {
                try {
                    engine.close();
                } catch (IllegalStateException itEndedByItself) {
                    told[0] = "by itself " + told[0];
                }
                output.close();
                answers.println("stopped " + told[0]);
                answers.flush();
            }
        }
        executor.shutdownNow();
        executor.awaitTermination(5, TimeUnit.SECONDS);
        System.exit(0);
    }

    static String render(ChangeEvent<String, String> event) {
        StringBuilder text = new StringBuilder("{\"topic\":\"").append(event.destination());
        text.append("\",\"key\":").append(event.key()).append(",\"value\":").append(event.value());
        text.append(",\"headers\":{");
        String separator = "";
        for (Header<String> header : event.<String>headers()) {
            text.append(separator).append('"').append(header.getKey()).append("\":").append(header.getValue());
            separator = ",";
        }
        return text.append("}}").toString();
    }
}
