"""Sessions that Debezium has on the stand-in while goldens are recorded."""

from __future__ import annotations

from contextlib import closing

from headrace_demo.oracle.database import Database
from headrace_demo.oracle.transactions import Transactions
from tests.golden.oracle.sessions import JdbcSession


def test_a_session_mines_in_the_root_after_it_was_in_a_container() -> None:
    """Debezium sets the formats of literals before that, once."""
    with closing(Database()) as database:
        session = JdbcSession(database, Transactions(database))
        (scn,) = session.execute("SELECT CURRENT_SCN FROM V$DATABASE", ())["rows"][0]
        files = session.execute("SELECT MEMBER FROM V$LOGFILE", ())["rows"]
        for container in ("ORCLPDB1", "cdb$root"):
            session.execute(f"alter session set container={container}", ())
        for (file,) in files:
            session.execute(f"BEGIN sys.dbms_logmnr.add_logfile(LOGFILENAME => '{file}');END;", ())
        first, last = int(scn) - 1, int(scn)
        started = session.execute(
            f"BEGIN sys.dbms_logmnr.start_logmnr(STARTSCN => '{first}', ENDSCN => '{last}');END;",
            (),
        )
        assert started == {"count": 0}
        assert database.statements["start_logmnr"] == 1
