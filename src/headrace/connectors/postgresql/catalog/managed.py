"""Managed PostgreSQL services: the facts that identify each, and its remedies for actions that only
a superuser may take elsewhere (docs/guides/managed-servers.md has the sources)."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from psycopg import sql

DECODING = "As a superuser: ALTER SYSTEM SET wal_level = logical; then restart the server."
SUPERUSER, OWNER = "As a superuser", "As the owner of the tables, with CREATE on the database"
"""Remedies for a server that no service runs: how wal_level becomes logical, and who creates a
publication; users of a service are not superusers, but own their tables."""
_AWS_BUNDLE = "https://truststore.pki.rds.amazonaws.com/global/global-bundle.pem"
_FACTS = """
SELECT 'role ' || rolname FROM pg_catalog.pg_roles WHERE 'role ' || rolname = ANY ({known})
UNION ALL SELECT 'function ' || proname FROM pg_catalog.pg_proc
WHERE 'function ' || proname = ANY ({known})
UNION ALL SELECT fact FROM pg_catalog.unnest({known}) k(fact) WHERE CASE WHEN fact LIKE 'setting %'
THEN pg_catalog.current_setting(pg_catalog.substr(fact, 9), true) IS NOT NULL END
"""


@dataclass(frozen=True)
class Service:
    """A service. `facts` are found on no other server, `hosts` are the suffixes of its servers'
    names. The rest are remedies: `decoding` makes wal_level logical, `replication` grants
    replication to `{role}`, `settings_place` says where settings are changed, `certificates` what
    database.sslrootcert has to contain, `iam` what logins with tokens need. `limits_wal`:
    max_slot_wal_keep_size can be set. `pooler` is a part of the names of hosts that do not forward
    replication."""

    name: str
    facts: tuple[str, ...]
    hosts: tuple[str, ...]
    decoding: str
    replication: str
    settings_place: str
    certificates: str
    pooler: str = ""
    limits_wal: bool = True
    iam: str = ""

    def let_replicate(self, user: str) -> str:
        """Return the remedy that grants replication to the role `user`."""
        return self.replication.replace("{role}", sql.Identifier(user).as_string())


_RDS_LOGIN = "As the master user: GRANT rds_replication TO {role};"
_RDS_IAM = (
    "For logins with IAM tokens, set rds.iam_auth_for_replication = 1 in the parameter group, too."
)
SERVICES = (
    # An Aurora server also has the roles and settings of RDS.
    Service(
        "Amazon Aurora",
        facts=("function aurora_version",),
        hosts=(),
        decoding="Set rds.logical_replication = 1 in the parameter group of the DB cluster, then "
        "reboot its writer.",
        replication=_RDS_LOGIN,
        settings_place="in the parameter group of the DB cluster",
        certificates=_AWS_BUNDLE,
        iam=_RDS_IAM,
    ),
    Service(
        "Amazon RDS",
        facts=(
            "role rds_superuser",
            "role rds_replication",
            "setting rds.logical_replication",
            "setting rds.extensions",
        ),
        hosts=(".rds.amazonaws.com", ".rds.amazonaws.com.cn"),
        decoding="Set rds.logical_replication = 1 in the DB parameter group, then reboot the "
        "instance.",
        replication=_RDS_LOGIN,
        settings_place="in the DB parameter group",
        certificates=_AWS_BUNDLE,
        iam=_RDS_IAM,
    ),
    Service(
        "Google Cloud SQL",
        facts=(
            "role cloudsqlsuperuser",
            "setting cloudsql.logical_decoding",
            "setting cloudsql.iam_authentication",
        ),
        hosts=(".sql.goog",),
        decoding="Set the flag cloudsql.logical_decoding = on, beside the flags that are set "
        "already; the instance restarts.",
        replication="As postgres, or another member of cloudsqlsuperuser: "
        "ALTER ROLE {role} REPLICATION;",
        settings_place="as a flag of the instance",
        certificates="the server CA of the instance",
    ),
    Service(
        "Azure Database for PostgreSQL",
        facts=("role azure_pg_admin", "setting azure.extensions"),
        hosts=(".postgres.database.azure.com", ".postgres.database.chinacloudapi.cn"),
        decoding="Set the server parameter wal_level to logical, save it, and restart the server.",
        replication="As the server's administrator: ALTER ROLE {role} REPLICATION;",
        settings_place="as a server parameter",
        certificates="Azure's root CAs",
        limits_wal=False,
    ),
    Service(
        "Neon",
        facts=("role neon_superuser", "setting neon.tenant_id", "setting neon.timeline_id"),
        hosts=(".neon.tech",),
        decoding="Enable logical replication in the settings of the project; its computes restart, "
        "and it stays enabled.",
        replication="Take a role that was made by Neon's console, CLI or API: those that SQL makes "
        "cannot get the right to replicate.",
        settings_place="by Neon's support",
        certificates="system: Neon's certificates are signed by a public CA",
        pooler="-pooler.",
    ),
    Service(
        "Supabase",
        facts=("role supabase_admin",),
        hosts=(".supabase.co", ".supabase.com"),
        decoding="Supabase's projects have wal_level = logical: ask its support, or correct "
        "postgresql.conf of a Supabase that you run yourself, and restart it.",
        replication="As postgres: ALTER ROLE {role} REPLICATION; before PostgreSQL 17, connect as "
        "postgres instead.",
        settings_place="by Supabase's CLI (supabase postgres-config)",
        certificates="the CA certificate of the dashboard's database settings",
        pooler=".pooler.",
    ),
)
_KNOWN = ", ".join(f"'{fact}'" for service in SERVICES for fact in service.facts)


@dataclass(frozen=True)
class Managed:
    """A server that a `service` runs, and the `facts` that show it."""

    service: Service
    facts: tuple[str, ...]


def service_of_host(host: str | None) -> Service | None:
    """The service that runs the server with this host name, if the name shows it; asks no
    server."""
    name = (host or "").lower().rstrip(".")
    return next(
        (service for service in SERVICES if service.hosts and name.endswith(service.hosts)), None
    )


def find_service(connection: psycopg.Connection, host: str | None) -> Managed | None:
    """The service that runs the server; None if nothing shows one. Facts of the server take
    precedence over its `host`. Never raises: the answer is only used to word remedies."""
    try:
        rows = connection.execute(_FACTS.format(known=f"ARRAY[{_KNOWN}]").encode()).fetchall()
    except psycopg.Error:
        rows = []
    present = {str(row[0]) for row in rows}
    for service in SERVICES:
        if present_facts := tuple(fact for fact in service.facts if fact in present):
            return Managed(service, present_facts)
    by_name = service_of_host(host)
    return None if by_name is None else Managed(by_name, (f"host {host}",))
