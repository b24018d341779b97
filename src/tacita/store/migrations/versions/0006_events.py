"""The audit log: who did what, and when. Lines are added; the database itself refuses to change or remove one."""

import datetime as dt

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_SQLITE = (
    "CREATE TRIGGER events_no_update BEFORE UPDATE ON events "
    "BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END",
    "CREATE TRIGGER events_no_delete BEFORE DELETE ON events "
    "BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END",
    # INSERT OR REPLACE removes a line without asking the trigger above
    "CREATE TRIGGER events_no_replace BEFORE INSERT ON events WHEN EXISTS (SELECT 1 FROM events WHERE id = NEW.id) "
    "BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END",
)
_POSTGRES = (
    "CREATE FUNCTION events_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the audit log is only added to'; END $$",
    "CREATE TRIGGER events_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
    "FOR EACH STATEMENT EXECUTE FUNCTION events_refuse()",
)


def upgrade() -> None:
    """Apply."""
    made = op.create_table(
        "events",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("principal", sa.String(length=200), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_events_kind_id"), "events", ["kind", "id"])
    op.create_index(op.f("ix_events_subject_id"), "events", ["subject", "id"])
    # what was done before is in the ledgers, but not here: the log says from when on it can be believed
    first = {"at": dt.datetime.now(dt.UTC), "kind": "log-begun", "subject": "", "principal": "tacita", "detail": "{}"}
    op.bulk_insert(made, [first])
    for statement in _POSTGRES if op.get_bind().dialect.name == "postgresql" else _SQLITE:
        op.execute(statement)
