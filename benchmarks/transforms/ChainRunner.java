import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.confluent.connect.avro.AvroConverter;
import io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient;
import io.debezium.converters.CloudEventsConverter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * JOB: a chain, and converters after it, over records in a loop on one thread. Says "ready PASSED" (how many records
 * leave the chain). Each line that comes in is "alone SECONDS" or "converted SECONDS", to which it answers
 * "measured RECORDS CPU_SECONDS".
 *
 * CPU is that of all threads but the compilers', garbage collection included.
 */
public class ChainRunner {
    record Step(Transformation<SourceRecord> transform, Predicate<SourceRecord> predicate, boolean negate) {}

    static final int TICKS = 100;

    static final ObjectMapper JSON = new ObjectMapper();
    static final Map<Integer, Converter> READERS = new HashMap<>();
    static final List<Step> STEPS = new ArrayList<>();
    static boolean isConverted;
    static Converter keys;
    static Converter values;
    static HeaderConverter headers;
    static long bytes;

    public static void main(String[] arguments) throws Exception {
        JsonNode job = JSON.readTree(Files.readAllBytes(Path.of(arguments[0])));
        SourceRecord[] records = read(Path.of(job.get("records").asText()));
        for (JsonNode step : job.get("steps")) {
            Transformation<SourceRecord> transform = made(step);
            transform.configure(options(step));
            Predicate<SourceRecord> predicate = null;
            if (step.hasNonNull("predicate")) {
                predicate = made(step.get("predicate"));
                predicate.configure(options(step.get("predicate")));
            }
            STEPS.add(new Step(transform, predicate, step.path("negate").asBoolean()));
        }
        if (job.hasNonNull("converters")) {
            keys = converter(job.get("converters").get("key"), true);
            values = converter(job.get("converters").get("value"), false);
            if (job.get("converters").hasNonNull("header")) {
                headers = made(job.get("converters").get("header"));
                headers.configure(options(job.get("converters").get("header")));
            }
        }
        int passed = pass(records);
        System.out.println("ready " + passed);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            isConverted = line.startsWith("converted ");
            double window = Double.parseDouble(line.substring(line.indexOf(' ')));
            long count = 0;
            double begun = seconds();
            double now = begun;
            while (now < begun + window) {
                pass(records);
                count += records.length;
                now = seconds();
            }
            System.out.println("measured " + count + " " + (now - begun));
        }
    }

    static int pass(SourceRecord[] records) {
        int passed = 0;
        for (SourceRecord record : records) {
            SourceRecord made = apply(record);
            if (made == null) {
                continue;
            }
            passed++;
            if (!isConverted) {
                continue;
            }
            if (keys != null) {
                count(keys.fromConnectData(made.topic(), made.keySchema(), made.key()));
                count(values.fromConnectData(made.topic(), made.valueSchema(), made.value()));
            }
            if (headers != null) {
                for (Header header : made.headers()) {
                    count(headers.fromConnectHeader(made.topic(), header.key(), header.schema(), header.value()));
                }
            }
        }
        return passed;
    }

    static SourceRecord apply(SourceRecord record) {
        for (Step step : STEPS) {
            if (step.predicate() != null && step.predicate().test(record) == step.negate()) {
                continue;
            }
            record = step.transform().apply(record);
            if (record == null) {
                return null;
            }
        }
        return record;
    }

    static void count(byte[] written) {
        bytes += written == null ? 0 : written.length;
    }

    /** Seconds of CPU of all threads but the compilers'. */
    static double seconds() throws IOException {
        long ticks = 0;
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path task : tasks) {
                String stat = Files.readString(task.resolve("stat"));
                int end = stat.lastIndexOf(')');
                if (!stat.substring(0, end).contains("Compiler")) {
                    String[] fields = stat.substring(end + 2).split(" ");
                    ticks += Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
                }
            }
        }
        return (double) ticks / TICKS;
    }

    @SuppressWarnings("unchecked")
    static <T> T made(JsonNode node) throws Exception {
        return (T) Class.forName(node.get("class").asText()).getDeclaredConstructor().newInstance();
    }

    static Map<String, Object> options(JsonNode node) {
        Map<String, Object> options = new HashMap<>();
        node.path("options").fields().forEachRemaining(each -> options.put(each.getKey(), each.getValue().asText()));
        return options;
    }

    static Converter converter(JsonNode node, boolean isKey) throws Exception {
        Converter made =
                switch (node.get("class").asText()) {
                    case "io.confluent.connect.avro.AvroConverter" -> avro();
                    case "io.debezium.converters.CloudEventsConverter" -> new CloudEventsConverter(avro());
                    default -> made(node);
                };
        made.configure(options(node), isKey);
        return made;
    }

    /** Confluent's converter with a registry in memory. */
    static AvroConverter avro() {
        AvroConverter made = new AvroConverter(new MockSchemaRegistryClient());
        made.configure(Map.of("schema.registry.url", "mock://bench"), false);
        return made;
    }

    /** Records in Kafka Connect's JSON form; the first line has the schemas, which the others name by number. */
    static SourceRecord[] read(Path file) throws IOException {
        List<SourceRecord> records = new ArrayList<>();
        JsonNode schemas = null;
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JsonNode node = JSON.readTree(line);
                if (schemas == null) {
                    schemas = node.get("schemas");
                    continue;
                }
                ConnectHeaders of = new ConnectHeaders();
                for (JsonNode header : node.get("headers")) {
                    SchemaAndValue value = part(header, schemas);
                    of.add(header.get("name").asText(), value);
                }
                SchemaAndValue key = part(node.get("key"), schemas);
                SchemaAndValue value = part(node.get("value"), schemas);
                JsonNode timestamp = node.get("timestamp");
                records.add(new SourceRecord(null, null, node.get("topic").asText(), null, key.schema(), key.value(),
                        value.schema(), value.value(), timestamp.isNull() ? null : timestamp.asLong(), of));
            }
        }
        return records.toArray(new SourceRecord[0]);
    }

    static SchemaAndValue part(JsonNode part, JsonNode schemas) throws IOException {
        if (part.isNull()) {
            return SchemaAndValue.NULL;
        }
        int number = part.get("schema").asInt();
        Converter reader = READERS.get(number);
        if (reader == null) {
            reader = new JsonConverter();
            reader.configure(
                    Map.of(
                            "schemas.enable", "true",
                            "replace.null.with.default", "false",
                            "schema.content", schemas.get(number).toString()),
                    false);
            READERS.put(number, reader);
        }
        return reader.toConnectData("t", JSON.writeValueAsBytes(part.get("payload")));
    }
}
