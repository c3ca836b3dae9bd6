package com.ibm.db2.jcc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Driver;
import java.sql.DriverPropertyInfo;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Stands in for IBM's driver, whose name Debezium asks for: a database `jdbc:db2://HOST:PORT/NAME` is the one in memory
 * of an H2 server there. Few statements of Db2's need other words in H2; the catalog is told as IBM's driver tells it.
 */
public class DB2Driver implements Driver {
    private static final Pattern URL = Pattern.compile("jdbc:db2://([^/]+)/(\\w+).*");
    private static final String[][] WORDS = {
        {"(?i)\\bCURRENT SERVER\\b", "UPPER(DATABASE())"},
        {"(?i) CONCAT ", " || "},
        {"(\\S+) \\+ \\? SECONDS", "DATEADD(SECOND, ?, $1)"},
        {"(?i) FOR READ ONLY WITH UR$", ""},
        {"(?i)SYSIBM.SYSTABLES", "SYSCAT.SYSTABLES"},
        {"(?i)^SELECT (DATE|TIME|TIMESTAMP)\\((.*)\\) FROM SYSIBM", "SELECT CAST($2 AS $1) FROM SYSIBM"},
    };
    private static final String TABLES =
            "SELECT CAST(NULL AS VARCHAR) TABLE_CAT, TABLE_SCHEMA TABLE_SCHEM, TABLE_NAME, 'TABLE' TABLE_TYPE,"
                    + " REMARKS FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_TYPE = 'BASE TABLE'"
                    + " AND TABLE_SCHEMA <> 'INFORMATION_SCHEMA' ORDER BY TABLE_SCHEMA, TABLE_NAME";
    // A comment on a column is the name of a type that H2 lacks.
    private static final String COLUMNS =
            "SELECT CAST(NULL AS VARCHAR) TABLE_CAT, TABLE_SCHEMA TABLE_SCHEM, TABLE_NAME, COLUMN_NAME,"
                    + " CASE TYPE WHEN 'CHAR' THEN 1 WHEN 'GRAPHIC' THEN 1 WHEN 'NCHAR' THEN 1 WHEN 'VARCHAR' THEN 12"
                    + " WHEN 'VARGRAPHIC' THEN 12 WHEN 'NVARCHAR' THEN 12 WHEN 'LONG VARCHAR' THEN -1"
                    + " WHEN 'CHAR () FOR BIT DATA' THEN -2 WHEN 'VARCHAR () FOR BIT DATA' THEN -3 WHEN 'BINARY' THEN -2"
                    + " WHEN 'VARBINARY' THEN -3 WHEN 'SMALLINT' THEN 5 WHEN 'INTEGER' THEN 4 WHEN 'BIGINT' THEN -5"
                    + " WHEN 'DECIMAL' THEN 3 WHEN 'NUMERIC' THEN 2 WHEN 'DECFLOAT' THEN 1111 WHEN 'REAL' THEN 7"
                    + " WHEN 'DOUBLE' THEN 8 WHEN 'BOOLEAN' THEN 16 WHEN 'DATE' THEN 91 WHEN 'TIME' THEN 92"
                    + " WHEN 'TIMESTAMP' THEN 93 WHEN 'TIMESTAMP WITH TIME ZONE' THEN 2014 WHEN 'CLOB' THEN 2005"
                    + " WHEN 'DBCLOB' THEN 2005 WHEN 'BLOB' THEN 2004 WHEN 'XML' THEN 2009 WHEN 'ROWID' THEN -8 END"
                    + " DATA_TYPE, TYPE TYPE_NAME,"
                    + " CASE TYPE WHEN 'SMALLINT' THEN 5 WHEN 'INTEGER' THEN 10 WHEN 'BIGINT' THEN 19 WHEN 'BOOLEAN' THEN 1"
                    + " WHEN 'REAL' THEN 24 WHEN 'DOUBLE' THEN 53 WHEN 'DATE' THEN 10 WHEN 'TIME' THEN 8 WHEN 'TIMESTAMP'"
                    + " THEN CASE DATETIME_PRECISION WHEN 0 THEN 19 ELSE 20 + DATETIME_PRECISION END"
                    + " ELSE COALESCE(CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, 0) END COLUMN_SIZE,"
                    + " 0 BUFFER_LENGTH,"
                    + " CASE WHEN TYPE IN ('SMALLINT', 'INTEGER', 'BIGINT') THEN 0 WHEN TYPE IN ('DECIMAL', 'NUMERIC')"
                    + " THEN NUMERIC_SCALE WHEN TYPE = 'TIME' OR TYPE LIKE 'TIMESTAMP%' THEN DATETIME_PRECISION END"
                    + " DECIMAL_DIGITS, 10 NUM_PREC_RADIX, CASE IS_NULLABLE WHEN 'YES' THEN 1 ELSE 0 END NULLABLE,"
                    + " CAST(NULL AS VARCHAR) REMARKS,"
                    + " REPLACE(REPLACE(REPLACE(REGEXP_REPLACE(COLUMN_DEFAULT, '^(DATE|TIME|TIMESTAMP) (?='')', ''),"
                    + " 'CURRENT_DATE', 'CURRENT DATE'), 'LOCALTIMESTAMP', 'CURRENT TIMESTAMP'), 'LOCALTIME', 'CURRENT TIME')"
                    + " COLUMN_DEF, 0 SQL_DATA_TYPE, 0 SQL_DATETIME_SUB, 0 CHAR_OCTET_LENGTH, ORDINAL_POSITION, IS_NULLABLE,"
                    + " CAST(NULL AS VARCHAR) SCOPE_CATALOG, CAST(NULL AS VARCHAR) SCOPE_SCHEMA,"
                    + " CAST(NULL AS VARCHAR) SCOPE_TABLE, 0 SOURCE_DATA_TYPE,"
                    + " CASE IS_IDENTITY WHEN 'YES' THEN 'YES' ELSE 'NO' END IS_AUTOINCREMENT,"
                    + " CASE IS_GENERATED WHEN 'ALWAYS' THEN 'YES' ELSE 'NO' END IS_GENERATEDCOLUMN"
                    + " FROM (SELECT C.*, COALESCE(REMARKS, CASE DATA_TYPE WHEN 'CHARACTER' THEN 'CHAR'"
                    + " WHEN 'CHARACTER VARYING' THEN 'VARCHAR' WHEN 'BINARY' THEN 'CHAR () FOR BIT DATA'"
                    + " WHEN 'BINARY VARYING' THEN 'VARCHAR () FOR BIT DATA' WHEN 'DOUBLE PRECISION' THEN 'DOUBLE'"
                    + " WHEN 'CHARACTER LARGE OBJECT' THEN 'CLOB' WHEN 'BINARY LARGE OBJECT' THEN 'BLOB'"
                    + " ELSE COALESCE(DECLARED_DATA_TYPE, DATA_TYPE) END) TYPE FROM INFORMATION_SCHEMA.COLUMNS C)"
                    + " WHERE TABLE_SCHEMA LIKE ? AND TABLE_NAME LIKE ?"
                    + " ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION";

    @Override
    public Connection connect(String url, Properties properties) throws SQLException {
        Matcher parts = URL.matcher(url);
        if (!parts.matches()) {
            return null;
        }
        Properties login = new Properties();
        login.put("user", properties.getProperty("user"));
        login.put("password", properties.getProperty("password"));
        String server = "jdbc:h2:tcp://" + parts.group(1) + "/mem:" + parts.group(2) + ";MODE=DB2";
        Connection connection = new org.h2.Driver().connect(server, login);
        return proxy(Connection.class, connection);
    }

    private static String translate(String sql) {
        for (String[] word : WORDS) {
            sql = sql.replaceAll(word[0], word[1]);
        }
        return sql;
    }

    /** The object, with texts of SQL translated, and what it gives wrapped as well. */
    private static <T> T proxy(Class<T> type, T object) {
        InvocationHandler handler = (self, method, arguments) -> {
            boolean takesSql = method.getName().matches("prepareStatement|execute\\w*|addBatch");
            if (takesSql && arguments != null && arguments[0] instanceof String) {
                arguments[0] = translate((String) arguments[0]);
            }
            if (object instanceof DatabaseMetaData metaData) {
                Connection connection = metaData.getConnection();
                if (method.getName().equals("getTables")) {
                    return connection.createStatement().executeQuery(TABLES);
                }
                if (method.getName().equals("getColumns")) {
                    PreparedStatement columns = connection.prepareStatement(COLUMNS);
                    columns.setString(1, arguments[1] == null ? "%" : (String) arguments[1]);
                    columns.setString(2, arguments[2] == null ? "%" : (String) arguments[2]);
                    columns.closeOnCompletion();
                    return columns.executeQuery();
                }
                if (method.getName().matches("getPrimaryKeys|getIndexInfo")) {
                    arguments[0] = null;
                }
            }
            Object result;
            try {
                result = method.invoke(object, arguments);
            } catch (InvocationTargetException exception) {
                throw exception.getCause();
            }
            if (result instanceof DatabaseMetaData metaData) {
                return proxy(DatabaseMetaData.class, metaData);
            }
            if (method.getName().equals("createStatement")) {
                return proxy(Statement.class, (Statement) result);
            }
            return result;
        };
        return type.cast(Proxy.newProxyInstance(type.getClassLoader() == null
                ? DB2Driver.class.getClassLoader() : type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @Override
    public boolean acceptsURL(String url) {
        return URL.matcher(url).matches();
    }

    @Override
    public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) {
        return new DriverPropertyInfo[0];
    }

    @Override
    public int getMajorVersion() {
        return 4;
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
        return Logger.getLogger("com.ibm.db2.jcc");
    }
}
