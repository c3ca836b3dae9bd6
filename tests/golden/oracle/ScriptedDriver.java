import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.util.HexFormat;
import java.util.Properties;
import java.util.logging.Logger;
import javax.sql.rowset.serial.SerialBlob;
import javax.sql.rowset.serial.SerialClob;

/**
 * A JDBC driver that executes nothing itself: `jdbc:scripted:PORT` is a server on this machine that is told each
 * statement in a line of JSON and answers with a line of rows, of a count or of an ORA error.
 */
public class ScriptedDriver implements Driver {
    private static final String PREFIX = "jdbc:scripted:";
    private static final ObjectMapper JSON = new ObjectMapper();

    static {
        try {
            DriverManager.registerDriver(new ScriptedDriver());
        } catch (SQLException exception) {
            throw new ExceptionInInitializerError(exception);
        }
    }

    @Override
    public Connection connect(String url, Properties properties) throws SQLException {
        return acceptsURL(url) ? new Session(Integer.parseInt(url.substring(PREFIX.length()))).connection : null;
    }

    @Override
    public boolean acceptsURL(String url) {
        return url.startsWith(PREFIX);
    }

    @Override
    public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) {
        return new DriverPropertyInfo[0];
    }

    @Override
    public int getMajorVersion() {
        return 23;
    }

    @Override
    public int getMinorVersion() {
        return 0;
    }

    @Override
    public boolean jdbcCompliant() {
        return true;
    }

    @Override
    public Logger getParentLogger() {
        return Logger.getLogger("scripted");
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        InvocationHandler all = (self, method, arguments) -> switch (method.getName()) {
            case "hashCode" -> System.identityHashCode(self);
            case "equals" -> self == arguments[0];
            case "toString" -> type.getSimpleName();
            default -> handler.invoke(self, method, arguments);
        };
        return type.cast(Proxy.newProxyInstance(ScriptedDriver.class.getClassLoader(), new Class<?>[] {type}, all));
    }

    /** What a method gives that tells nothing: of its type, nothing. */
    private static Object nothing(Method method) {
        Class<?> type = method.getReturnType();
        return type == boolean.class ? (Object) false : type == int.class ? (Object) 0
                : type == long.class ? (Object) 0L : null;
    }

    /** A connection, which has one socket. */
    private static final class Session {
        final Connection connection;
        private final Socket socket;
        private final BufferedReader answers;
        private final OutputStream questions;
        private boolean closed;
        private boolean autoCommit = true;

        Session(int port) throws SQLException {
            try {
                socket = new Socket("127.0.0.1", port);
                socket.setTcpNoDelay(true);
                answers = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
                questions = socket.getOutputStream();
            } catch (IOException exception) {
                throw new SQLException("ORA-12541: no listener", "66000", 12541, exception);
            }
            connection = proxy(Connection.class, this::invoke);
        }

        private Object invoke(Object self, Method method, Object[] arguments) throws SQLException {
            switch (method.getName()) {
                case "createStatement":
                    return statement(Statement.class, null);
                case "prepareStatement":
                    return statement(PreparedStatement.class, (String) arguments[0]);
                case "prepareCall":
                    return statement(CallableStatement.class, (String) arguments[0]);
                case "getMetaData":
                    return proxy(DatabaseMetaData.class, this::metaData);
                case "getAutoCommit":
                    return autoCommit;
                case "setAutoCommit":
                    autoCommit = (Boolean) arguments[0];
                    return null;
                case "isValid":
                    return !closed;
                case "isClosed":
                    return closed;
                case "commit", "rollback":
                    ask(JSON.createObjectNode().put("sql", method.getName()));
                    return null;
                case "close":
                    closed = true;
                    try {
                        socket.close();
                    } catch (IOException exception) {
                        throw new SQLException(exception);
                    }
                    return null;
                case "setSavepoint":
                    return proxy(java.sql.Savepoint.class, (savepoint, named, none) -> nothing(named));
                case "unwrap":
                    throw new SQLException("not a connection of Oracle's driver");
                default:
                    return nothing(method);
            }
        }

        synchronized JsonNode ask(ObjectNode question) throws SQLException {
            try {
                questions.write((JSON.writeValueAsString(question) + "\n").getBytes(StandardCharsets.UTF_8));
                questions.flush();
                String line = answers.readLine();
                if (line == null) {
                    throw new SQLException("ORA-03113: end-of-file on communication channel", "08003", 3113);
                }
                JsonNode answer = JSON.readTree(line);
                if (answer.has("error")) {
                    int code = answer.get("error").asInt();
                    throw new SQLException(answer.get("message").asText(), "99999", code);
                }
                return answer;
            } catch (IOException exception) {
                throw new SQLException("ORA-03113: end-of-file on communication channel", "08003", 3113, exception);
            }
        }

        private Object metaData(Object self, Method method, Object[] arguments) throws SQLException {
            switch (method.getName()) {
                case "getTables", "getColumns", "getPrimaryKeys", "getIndexInfo":
                    ObjectNode question = JSON.createObjectNode().put("metadata", method.getName());
                    question.put("schema", (String) arguments[1]).put("table", (String) arguments[2]);
                    return new Rows(ask(question), null).resultSet;
                case "getDatabaseProductName":
                    return "Oracle";
                case "getDatabaseProductVersion":
                    return "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production\nVersion 19.3.0.0.0";
                case "getDatabaseMajorVersion":
                    return 19;
                case "getDatabaseMinorVersion":
                    return 3;
                case "getSQLKeywords":
                    return "ACCESS,AUDIT,COMMENT,EXCLUSIVE,FILE";
                case "getConnection":
                    return connection;
                case "getURL":
                    return PREFIX;
                case "storesUpperCaseIdentifiers":
                    return true;
                case "getIdentifierQuoteString":
                    return "\"";
                case "getSearchStringEscape":
                    return "/";
                default:
                    return nothing(method);
            }
        }

        /** A statement, whose text may come when it is made or when it is executed. */
        private <T extends Statement> T statement(Class<T> type, String prepared) {
            ArrayNode binds = JSON.createArrayNode();
            JsonNode[] answer = {null};
            Object[] made = {null};
            T statement = proxy(type, (self, method, arguments) -> {
                String name = method.getName();
                if (name.startsWith("execute")) {
                    String sql = prepared != null ? prepared : (String) arguments[0];
                    ObjectNode question = JSON.createObjectNode().put("sql", sql);
                    question.set("binds", binds.deepCopy());
                    answer[0] = ask(question);
                    return switch (name) {
                        case "executeQuery" -> new Rows(answer[0], (Statement) self).resultSet;
                        case "executeUpdate" -> answer[0].path("count").asInt();
                        default -> answer[0].has("rows");
                    };
                }
                if (name.startsWith("set") && arguments != null && arguments.length >= 2
                        && arguments[0] instanceof Integer place) {
                    while (binds.size() < place) {
                        binds.addNull();
                    }
                    Object value = name.equals("setNull") ? null : arguments[1];
                    binds.set(place - 1, value == null ? null : value instanceof Number number
                            ? JSON.getNodeFactory().numberNode(new BigDecimal(number.toString()))
                            : JSON.getNodeFactory().textNode(value.toString()));
                    return null;
                }
                return switch (name) {
                    case "getResultSet" -> new Rows(answer[0], (Statement) self).resultSet;
                    case "getUpdateCount" -> answer[0] == null || answer[0].has("rows")
                            ? -1 : answer[0].path("count").asInt();
                    case "getConnection" -> connection;
                    default -> nothing(method);
                };
            });
            return statement;
        }
    }

    /** The rows of an answer, each value as Oracle's driver gives one of its type. */
    private static final class Rows {
        final ResultSet resultSet = proxy(ResultSet.class, this::invoke);
        private final JsonNode columns;
        private final JsonNode rows;
        private final Statement statement;
        private int row = -1;
        private boolean wasNull;

        Rows(JsonNode answer, Statement statement) {
            columns = answer.path("columns");
            rows = answer.path("rows");
            this.statement = statement;
        }

        private Object invoke(Object self, Method method, Object[] arguments) throws SQLException {
            String name = method.getName();
            switch (name) {
                case "next":
                    row++;
                    if (row < rows.size() && rows.get(row).isInt()) {
                        throw new SQLException(
                                String.format("ORA-%05d: while rows were fetched", rows.get(row).asInt()), "99999",
                                rows.get(row).asInt());
                    }
                    return row < rows.size();
                case "wasNull":
                    return wasNull;
                case "isBeforeFirst":
                    return row < 0 && rows.size() > 0;
                case "getMetaData":
                    return proxy(ResultSetMetaData.class, this::metaData);
                case "findColumn":
                    return place(arguments[0]) + 1;
                case "getStatement":
                    return statement;
                case "close":
                    return null;
                default:
                    if (name.startsWith("get") && arguments != null && arguments.length >= 1) {
                        int place = place(arguments[0]);
                        JsonNode value = rows.get(row).get(place);
                        wasNull = value.isNull();
                        if (wasNull) {
                            return nothing(method);
                        }
                        if (name.equals("getObject") && arguments.length > 1 && arguments[1] instanceof Class<?> type) {
                            return object(type, value.asText());
                        }
                        return value(name, columns.get(place).get(1).asText(), value.asText());
                    }
                    return nothing(method);
            }
        }

        private int place(Object column) throws SQLException {
            if (column instanceof Integer number) {
                return number - 1;
            }
            for (int place = 0; place < columns.size(); place++) {
                if (columns.get(place).get(0).asText().equalsIgnoreCase((String) column)) {
                    return place;
                }
            }
            throw new SQLException("ORA-17006: invalid column name " + column, "99999", 17006);
        }

        private Object value(String name, String type, String text) throws SQLException {
            return switch (name) {
                case "getString", "getNString" -> text;
                case "getInt" -> new BigDecimal(text).intValue();
                case "getShort" -> new BigDecimal(text).shortValue();
                case "getLong" -> new BigDecimal(text).longValue();
                case "getFloat" -> Float.parseFloat(text);
                case "getDouble" -> Double.parseDouble(text);
                case "getBoolean" -> !text.equals("0");
                case "getBigDecimal" -> new BigDecimal(text);
                case "getTimestamp" -> Timestamp.valueOf(text);
                case "getBytes" -> HexFormat.of().parseHex(text);
                case "getClob", "getNClob" -> new SerialClob(text.toCharArray());
                case "getBlob" -> new SerialBlob(HexFormat.of().parseHex(text));
                case "getObject" -> object(type, text);
                default -> throw new SQLFeatureNotSupportedException(name);
            };
        }

        private Object object(Class<?> type, String text) throws SQLException {
            if (type == OffsetDateTime.class) {
                return offsetDateTime(text);
            }
            if (type == oracle.sql.TIMESTAMP.class) {
                return new oracle.sql.TIMESTAMP(Timestamp.valueOf(text));
            }
            throw new SQLFeatureNotSupportedException(type.getName());
        }

        private static OffsetDateTime offsetDateTime(String text) {
            int space = text.lastIndexOf(' ');
            LocalDateTime local = Timestamp.valueOf(text.substring(0, space)).toLocalDateTime();
            return OffsetDateTime.of(local, java.time.ZoneOffset.of(text.substring(space + 1)));
        }

        private Object object(String type, String text) throws SQLException {
            if (type.endsWith("WITH LOCAL TIME ZONE")) {
                return new oracle.sql.TIMESTAMPLTZ(new oracle.sql.TIMESTAMP(Timestamp.valueOf(text)).toBytes());
            }
            if (type.endsWith("WITH TIME ZONE")) {
                return oracle.sql.TIMESTAMPTZ.of(offsetDateTime(text));
            }
            if (type.startsWith("TIMESTAMP")) {
                return new oracle.sql.TIMESTAMP(Timestamp.valueOf(text));
            }
            if (type.startsWith("INTERVAL YEAR")) {
                return new oracle.sql.INTERVALYM(text);
            }
            if (type.startsWith("INTERVAL DAY")) {
                return new oracle.sql.INTERVALDS(text);
            }
            return switch (type) {
                case "NUMBER", "FLOAT" -> new BigDecimal(text);
                case "BINARY_FLOAT" -> Float.valueOf(text);
                case "BINARY_DOUBLE" -> Double.valueOf(text);
                case "DATE" -> Timestamp.valueOf(text);
                case "RAW", "LONG RAW" -> HexFormat.of().parseHex(text);
                case "CLOB", "NCLOB" -> new SerialClob(text.toCharArray());
                case "BLOB" -> new SerialBlob(HexFormat.of().parseHex(text));
                default -> text;
            };
        }

        private Object metaData(Object self, Method method, Object[] arguments) {
            return switch (method.getName()) {
                case "getColumnCount" -> columns.size();
                case "getColumnName", "getColumnLabel" -> columns.get((Integer) arguments[0] - 1).get(0).asText();
                case "getColumnTypeName" -> columns.get((Integer) arguments[0] - 1).get(1).asText();
                case "getColumnType" -> columns.get((Integer) arguments[0] - 1).get(2).asInt();
                default -> nothing(method);
            };
        }
    }
}
