#!/usr/bin/env bash
# Sets a Db2 up for the tests of HEADRACE_DB2_DSN: the owner of the instance runs it beside the server,
# in the container of IBM's community image for example. $1 is the database; archived logs and files of
# Capture are in a folder of the owner's. Nobody has run it yet.
#
# It archives the log, makes the control tables of SQL replication in the schema ASNCDC by ASNCLP,
# has Capture commit every second, and starts it. What tests capture they register themselves.
set -euo pipefail

database=$1
folder=$HOME/headrace
set +u
# shellcheck disable=SC1091
. "$HOME/sqllib/db2profile"
set -u
PATH=$PATH:$HOME/sqllib/java/jdk64/jre/bin:$HOME/sqllib/java/jdk64/bin
mkdir -p "$folder/archive" "$folder/capture"

# The processor of statements ends with 1 where there are no rows, and with 2 after a warning.
statement() {
  local status=0
  db2 "$@" || status=$?
  [ "$status" -lt 4 ]
}

statement update db cfg for "$database" using LOGARCHMETH1 "DISK:$folder/archive"
statement force applications all
statement deactivate db "$database"
# The database waits for a backup, from which on its log is archived.
statement backup db "$database" to /dev/null
statement activate db "$database"
statement connect to "$database"
# The driver's packages, for every user; a database of the image may have them already.
statement bind "$HOME/sqllib/bnd/db2schema.bnd" blocking all grant public sqlerror continue
statement bind "@$HOME/sqllib/bnd/db2cli.lst" blocking all grant public
statement terminate

cd "$folder"
cat > control-tables.asnclp <<END
ASNCLP SESSION SET TO SQL REPLICATION;
SET RUN SCRIPT NOW STOP ON SQL ERROR ON;
SET SERVER CAPTURE TO DB $database;
SET CAPTURE SCHEMA SOURCE ASNCDC;
CREATE CONTROL TABLES FOR CAPTURE SERVER;
END
asnclp -f control-tables.asnclp

statement connect to "$database"
statement "UPDATE ASNCDC.IBMSNAP_CAPPARMS SET COMMIT_INTERVAL = 1, SLEEP_INTERVAL = 1"
statement terminate

nohup asncap capture_server="$database" capture_schema=ASNCDC capture_path="$folder/capture" \
  startmode=warmsi > "$folder/capture/asncap.out" 2>&1 < /dev/null &

# Capture runs once it has written down where it begins.
statement connect to "$database"
for _ in $(seq 60); do
  begun=$(db2 -x "SELECT COUNT(*) FROM ASNCDC.IBMSNAP_REGISTER WHERE GLOBAL_RECORD = 'Y' \
    AND SYNCHPOINT IS NOT NULL" || true)
  if [ "$(echo "$begun" | tr -d '[:space:]')" = 1 ]; then
    statement terminate
    exit 0
  fi
  sleep 2
done
cat "$folder/capture/asncap.out" >&2
echo "Capture did not begin" >&2
exit 1
