import io.debezium.config.Configuration;
import io.debezium.connector.oracle.OracleConnection;
import io.debezium.connector.oracle.OracleConnectorConfig;
import io.debezium.connector.oracle.OracleDatabaseSchema;
import io.debezium.connector.oracle.OracleDefaultValueConverter;
import io.debezium.connector.oracle.OracleTaskContext;
import io.debezium.connector.oracle.OracleValueConverters;
import io.debezium.connector.oracle.StreamingAdapter.TableNameCaseSensitivity;
import io.debezium.connector.oracle.logminer.parser.LogMinerDmlEntry;
import io.debezium.connector.oracle.logminer.parser.LogMinerDmlParser;
import io.debezium.data.Envelope;
import io.debezium.relational.Column;
import io.debezium.relational.CustomConverterRegistry;
import io.debezium.relational.Table;
import io.debezium.relational.TableEditor;
import io.debezium.relational.TableId;
import io.debezium.relational.TableSchema;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Types;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import oracle.jdbc.OracleTypes;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Debezium's parser of redo, its value converters and Kafka Connect's JSON, over the statements of a file:
 * `RedoRunner STATEMENTS SECONDS URL`. Prints for each step how many statements there were, and the process's CPU nanoseconds.
 */
public class RedoRunner {
    private static final TableId ID = new TableId("ORCLPDB1", "BENCH", "ORDERS");

    private final Table table;
    private final TableSchema tableSchema;
    private final LogMinerDmlParser parser;
    private final Schema sourceSchema;
    private final JsonConverter keys = new JsonConverter();
    private final JsonConverter values = new JsonConverter();
    private long bytes;

    private RedoRunner(String url) throws Exception {
        Map<String, String> properties = new HashMap<>(Map.of(
                "topic.prefix", "bench", "database.url", url, "database.user", "u", "database.password", "p",
                "database.dbname", "ORCLCDB", "database.pdb.name", "ORCLPDB1",
                "schema.history.internal", "io.debezium.relational.history.MemorySchemaHistory"));
        OracleConnectorConfig config = new OracleConnectorConfig(Configuration.from(properties));
        OracleConnection connection = new OracleConnection(config, false);
        OracleValueConverters converters = new OracleValueConverters(config, connection);
        OracleDatabaseSchema schema = new OracleDatabaseSchema(
                config, converters, new OracleDefaultValueConverter(converters, connection), config.schemaNameAdjuster(),
                config.getTopicNamingStrategy(OracleConnectorConfig.TOPIC_NAMING_STRATEGY),
                TableNameCaseSensitivity.SENSITIVE, false, new CustomConverterRegistry(List.of()),
                new OracleTaskContext(Configuration.from(properties), config));
        TableEditor editor = Table.editor().tableId(ID);
        editor.addColumns(
                number("ID", 9, 0, false), number("CUSTOMER", 9, 0, false), text("NAME", 60), text("STATUS", 10),
                number("AMOUNT", 12, 2, true), number("QUANTITY", 5, 0, true), number("RATE", 9, 4, true), text("NOTE", 200),
                column("ORDERED", "TIMESTAMP(6)", OracleTypes.TIMESTAMP).length(11).scale(6).optional(true).create(),
                column("SHIPPED", "DATE", Types.TIMESTAMP).length(7).optional(true).create());
        table = editor.setPrimaryKeyNames("ID").create();
        schema.refresh(table);
        tableSchema = schema.schemaFor(ID);
        parser = new LogMinerDmlParser(config);
        sourceSchema = config.getSourceInfoStructMaker().schema();
        keys.configure(Map.of("schemas.enable", false, "converter.type", "key"));
        values.configure(Map.of("schemas.enable", false, "converter.type", "value"));
    }

    private static io.debezium.relational.ColumnEditor column(String name, String type, int jdbcType) {
        return Column.editor().name(name).type(type).jdbcType(jdbcType);
    }

    private static Column number(String name, int precision, int scale, boolean optional) {
        return column(name, "NUMBER", Types.NUMERIC).length(precision).scale(scale).optional(optional).create();
    }

    private static Column text(String name, int length) {
        return column(name, "VARCHAR2", Types.VARCHAR).length(length).optional(true).create();
    }

    private void parsed(String statement) {
        bytes += parser.parse(statement, table).getNewValues().length;
    }

    private void converted(String statement) {
        LogMinerDmlEntry entry = parser.parse(statement, table);
        Struct before = struct(entry.getOldValues());
        Struct after = struct(entry.getNewValues());
        bytes += (before == null ? 0 : 1) + (after == null ? 0 : 1);
    }

    private void toJson(String statement) {
        LogMinerDmlEntry entry = parser.parse(statement, table);
        Struct before = struct(entry.getOldValues());
        Struct after = struct(entry.getNewValues());
        Object[] row = after == null ? entry.getOldValues() : entry.getNewValues();
        Struct key = tableSchema.keyFromColumnData(row);
        Envelope envelope = tableSchema.getEnvelopeSchema();
        Instant now = Instant.now();
        Struct source = source();
        Struct event = before == null ? envelope.create(after, source, now)
                : after == null ? envelope.delete(before, source, now) : envelope.update(before, after, source, now);
        bytes += keys.fromConnectData("t", tableSchema.keySchema(), key).length;
        bytes += values.fromConnectData("t", envelope.schema(), event).length;
    }

    private Struct source() {
        Struct source = new Struct(sourceSchema);
        for (Field field : sourceSchema.fields()) {
            switch (field.schema().type()) {
                case STRING -> source.put(field, field.name().equals("snapshot") ? "false" : "some text");
                case INT64 -> source.put(field, 1704067200000L);
                case INT32 -> source.put(field, 1);
                default -> { }
            }
        }
        return source;
    }

    private Struct struct(Object[] row) {
        return row == null || row.length == 0 ? null : tableSchema.valueFromColumnData(row);
    }

    private interface Step {
        void run(String statement);
    }

    private static void measure(String name, List<String> statements, double seconds, Step step) {
        com.sun.management.OperatingSystemMXBean system =
                (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        for (int round = 0; round < 2; round++) { // the first one is for the compiler
            long began = system.getProcessCpuTime();
            long count = 0;
            while (system.getProcessCpuTime() - began < seconds * 1e9) {
                for (int i = 0; i < 1000; i++) {
                    step.run(statements.get((int) ((count + i) % statements.size())));
                }
                count += 1000;
            }
            if (round == 1) {
                System.out.println(name + " " + count + " " + (system.getProcessCpuTime() - began));
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<String> statements = Files.readAllLines(Path.of(arguments[0]));
        double seconds = Double.parseDouble(arguments[1]);
        RedoRunner runner = new RedoRunner(arguments[2]);
        measure("parse", statements, seconds, runner::parsed);
        measure("convert", statements, seconds, runner::converted);
        measure("json", statements, seconds, runner::toJson);
        runner.toJson(statements.get(0));
        System.out.println("example " + new String(runner.values.fromConnectData(
                "t", runner.tableSchema.valueSchema(), runner.struct(runner.parser.parse(statements.get(0), runner.table).getNewValues()))));
    }
}
