"""Campaigns with several questions, in blocks."""

import sqlalchemy as sa
from alembic import op

from tacita.errors import Conflict

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    # what was sent to devices has another form now, so a campaign of the old form cannot go on
    if op.get_bind().execute(sa.text("SELECT count(*) FROM campaigns")).scalar_one():
        hint = "Fetch its releases with the version that made it, then start with a new state database"
        raise Conflict("holds campaigns of an earlier form, which cannot be carried over", field="state", hint=hint)
    for name in ("reports", "tallies", "campaigns"):
        op.drop_table(name)
    op.create_table(
        "campaigns",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("looks", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("block_opened", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_campaigns")),
        sa.UniqueConstraint("id", name=op.f("uq_campaigns_id")),
    )
    op.create_table(
        "questions",
        sa.Column("campaign", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("view", sa.Integer(), nullable=False),
        sa.Column("share", sa.Float(), nullable=False),
        sa.Column("attributes", sa.Text(), nullable=False),
        sa.Column("wire", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name=op.f("fk_questions_campaign")),
        sa.PrimaryKeyConstraint("campaign", "id", name=op.f("pk_questions")),
    )
    op.create_table(
        "tallies",
        sa.Column("campaign", sa.String(length=64), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.Column("reports", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name=op.f("fk_tallies_campaign")),
        sa.PrimaryKeyConstraint("campaign", "question", name=op.f("pk_tallies")),
    )
    for name, more in (("reports", []), ("kept_reports", [sa.Column("kept", sa.Text(), nullable=False)])):
        op.create_table(
            name,
            sa.Column("campaign", sa.Integer(), nullable=False),
            sa.Column("report", sa.LargeBinary(length=16), nullable=False),
            *more,
            sa.ForeignKeyConstraint(["campaign"], ["campaigns.number"], name=op.f(f"fk_{name}_campaign")),
            sa.PrimaryKeyConstraint("campaign", "report", name=op.f(f"pk_{name}")),
            sqlite_with_rowid=name != "reports",
        )
