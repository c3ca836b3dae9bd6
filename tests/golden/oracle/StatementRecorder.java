import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.debezium.config.Configuration;
import io.debezium.connector.oracle.OracleConnection;
import io.debezium.connector.oracle.OracleConnectorConfig;
import io.debezium.connector.oracle.OracleDatabaseSchema;
import io.debezium.connector.oracle.OracleDefaultValueConverter;
import io.debezium.connector.oracle.OracleTaskContext;
import io.debezium.connector.oracle.OracleValueConverters;
import io.debezium.connector.oracle.StreamingAdapter.TableNameCaseSensitivity;
import io.debezium.connector.oracle.antlr.OracleDdlParser;
import io.debezium.connector.oracle.logminer.parser.DmlParser;
import io.debezium.connector.oracle.logminer.parser.ExtendedStringParser;
import io.debezium.connector.oracle.logminer.parser.LobWriteParser;
import io.debezium.connector.oracle.logminer.parser.LogMinerColumnResolverDmlParser;
import io.debezium.connector.oracle.logminer.parser.LogMinerDmlEntry;
import io.debezium.connector.oracle.logminer.parser.LogMinerDmlParser;
import io.debezium.connector.oracle.logminer.parser.SelectLobParser;
import io.debezium.document.DocumentWriter;
import io.debezium.relational.CustomConverterRegistry;
import io.debezium.relational.Table;
import io.debezium.relational.TableId;
import io.debezium.relational.TableSchema;
import io.debezium.relational.Tables;
import io.debezium.relational.ddl.DdlChanges;
import io.debezium.relational.ddl.DdlParserListener;
import io.debezium.relational.history.JsonTableChangeSerializer;
import io.debezium.relational.history.TableChanges;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Reads lines of JSON: properties, a table of the server behind `database.url`, and statements of redo or of DDL.
 * Answers with a line each: the table's schema, and what Debezium's parsers and converters make of each statement.
 */
public class StatementRecorder {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final DocumentWriter WRITER = DocumentWriter.defaultWriter();

    private final OracleConnectorConfig config;
    private final OracleDatabaseSchema schema;
    private final OracleValueConverters converters;
    private final Tables tables = new Tables();
    private final Map<TableId, JsonNode> told = new HashMap<>();
    private final JsonConverter withSchema = converter(true);
    private final JsonConverter plain = converter(false);

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode asked = JSON.readTree(line);
            StatementRecorder recorder = new StatementRecorder(asked);
            answers.println(JSON.writeValueAsString(recorder.answer(asked)));
            answers.flush();
            recorder.schema.close(); // the next one has metrics of the same name
        }
    }

    private StatementRecorder(JsonNode asked) throws Exception {
        Map<String, String> properties = JSON.convertValue(asked.get("properties"), Map.class);
        config = new OracleConnectorConfig(Configuration.from(properties));
        OracleConnection connection = new OracleConnection(config, false);
        converters = new OracleValueConverters(config, connection);
        schema = new OracleDatabaseSchema(
                config, converters, new OracleDefaultValueConverter(converters, connection),
                config.schemaNameAdjuster(),
                config.getTopicNamingStrategy(OracleConnectorConfig.TOPIC_NAMING_STRATEGY),
                TableNameCaseSensitivity.SENSITIVE, false, new CustomConverterRegistry(List.of()),
                new OracleTaskContext(Configuration.from(properties), config));
        connection.readSchema(
                tables, config.getCatalogName(), null, Tables.TableFilter.includeAll(), null, false);
        connection.close();
    }

    private static JsonConverter converter(boolean schemas) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", schemas, "converter.type", "value"));
        return converter;
    }

    private ObjectNode answer(JsonNode asked) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode statements = answer.putArray("statements");
        if (asked.path("kind").asText().equals("ddl")) {
            for (JsonNode statement : asked.get("statements")) {
                statements.add(ddl(statement.asText()));
            }
            return answer;
        }
        String[] name = asked.get("table").asText().split("\\.", 2);
        TableId id = new TableId(config.getCatalogName(), name[0], name[1]);
        Table table = tables.forTable(id);
        schema.refresh(table);
        TableSchema tableSchema = schema.schemaFor(id);
        answer.set("schema", JSON.readTree(withSchema.fromConnectData("t", tableSchema.valueSchema(), null)).get("schema"));
        for (JsonNode statement : asked.get("statements")) {
            statements.add(redo(statement.asText(), table, tableSchema));
        }
        return answer;
    }

    private ObjectNode redo(String statement, Table table, TableSchema tableSchema) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            String start = statement.stripLeading().toLowerCase();
            if (start.startsWith("declare")) {
                lob(statement, table, tableSchema, answer);
            } else if (start.startsWith("buf_")) {
                LobWriteParser.LobWrite write = LobWriteParser.parse(statement);
                answer.put("offset", write.offset()).put("length", write.length()).put("data", write.data());
            } else {
                DmlParser parser = config.getLogMiningStrategy() == OracleConnectorConfig.LogMiningStrategy.HYBRID
                        ? new LogMinerColumnResolverDmlParser(config) : new LogMinerDmlParser(config);
                images(parser.parse(statement, table), tableSchema, answer);
            }
        } catch (Exception exception) {
            Throwable cause = exception;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            answer.removeAll();
            answer.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
        }
        return answer;
    }

    private void lob(String statement, Table table, TableSchema tableSchema, ObjectNode answer) throws Exception {
        if (statement.contains("Stmt :=") || statement.contains("stmt :=")) {
            ExtendedStringParser parser = new ExtendedStringParser();
            LogMinerDmlEntry entry = parser.parse(statement, table);
            answer.put("column", parser.getColumnName());
            images(entry, tableSchema, answer);
            return;
        }
        SelectLobParser parser = new SelectLobParser();
        LogMinerDmlEntry entry = parser.parse(statement, table);
        answer.put("column", parser.getColumnName()).put("binary", parser.isBinary());
        images(entry, tableSchema, answer);
    }

    private void images(LogMinerDmlEntry entry, TableSchema tableSchema, ObjectNode answer) throws Exception {
        answer.put("operation", String.valueOf(entry.getEventType()));
        answer.set("key", value(tableSchema.keySchema(), key(entry, tableSchema)));
        answer.set("before", image(entry.getOldValues(), tableSchema));
        answer.set("after", image(entry.getNewValues(), tableSchema));
    }

    private Struct key(LogMinerDmlEntry entry, TableSchema tableSchema) {
        Object[] values = entry.getNewValues().length > 0 ? entry.getNewValues() : entry.getOldValues();
        return values.length > 0 ? tableSchema.keyFromColumnData(values) : null;
    }

    private JsonNode image(Object[] values, TableSchema tableSchema) throws Exception {
        if (values == null || values.length == 0) {
            return JSON.nullNode();
        }
        return value(tableSchema.valueSchema(), tableSchema.valueFromColumnData(values));
    }

    private JsonNode value(Schema valueSchema, Struct struct) throws Exception {
        if (struct == null) {
            return JSON.nullNode();
        }
        return JSON.getNodeFactory().textNode(
                new String(plain.fromConnectData("t", valueSchema, struct), StandardCharsets.UTF_8));
    }

    /** What Debezium's DDL parser makes of a statement, and the tables as they are then. */
    private ObjectNode ddl(String statement) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        OracleDdlParser parser = new OracleDdlParser(true, false, true, converters, Tables.TableFilter.includeAll());
        parser.setCurrentDatabase(config.getCatalogName());
        parser.setCurrentSchema("S");
        try {
            DdlChanges changes = parser.parse(statement, tables);
            ArrayNode events = answer.putArray("events");
            changes.getEventsByDatabase((database, list) -> {
                for (DdlParserListener.Event event : list) {
                    ObjectNode node = events.addObject().put("type", event.type().name());
                    if (event instanceof DdlParserListener.TableEvent changed) {
                        node.put("table", String.valueOf(changed.tableId()));
                    }
                    if (event instanceof DdlParserListener.TableAlteredEvent altered) {
                        node.put("previous", altered.previousTableId() == null ? null : altered.previousTableId().toString());
                    }
                }
            });
        } catch (Exception exception) {
            answer.put("error", exception.getClass().getSimpleName());
        }
        ArrayNode all = answer.putArray("tables");
        ArrayNode changed = answer.putArray("changed");
        for (TableId id : tables.tableIds()) {
            all.add(id.toString());
            for (TableChanges.TableChange change : new TableChanges().create(tables.forTable(id))) {
                JsonNode table = JSON.readTree(WRITER.write(new JsonTableChangeSerializer().toDocument(change)));
                if (!table.equals(told.put(id, table))) {
                    changed.add(table);
                }
            }
        }
        return answer;
    }
}
