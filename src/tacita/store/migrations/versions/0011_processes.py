"""Fences of restored ledgers, a queue that processes share, and jobs that were handed back."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "fences",
        sa.Column("account", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("closed", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("account", name=op.f("pk_fences")),
    )
    op.create_table(
        "installation",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_installation")),
    )
    op.create_table(
        "job_queue",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("message", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_job_queue")),
    )
    op.add_column("jobs", sa.Column("handed_back", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    """Undo."""
    op.drop_column("jobs", "handed_back")
    for table in ("job_queue", "installation", "fences"):
        op.drop_table(table)
