"""Accounts, charges, tokens, datasets, campaigns, jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "accounts",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("unit", sa.String(length=300), nullable=False),
        sa.Column("neighbours", sa.String(length=20), nullable=False),
        sa.Column("budget", sa.Text(), nullable=False),
        sa.Column("charges", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_accounts")),
    )
    op.create_table(
        "campaigns",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("minimum", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaigns")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("progress", sa.Float(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("heartbeat", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_state"), "jobs", ["state"], unique=False)
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("datasets", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )
    op.create_table(
        "charges",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("account", sa.String(length=200), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("principal", sa.String(length=200), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["account"], ["accounts.name"], name=op.f("fk_charges_account")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_charges")),
        sa.UniqueConstraint("account", "key", name=op.f("uq_charges_account_key")),
    )
    op.create_index(op.f("ix_charges_account_created"), "charges", ["account", "created"], unique=False)
    op.create_table(
        "datasets",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("source", sa.String(length=200), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("account", sa.String(length=200), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.name"], name=op.f("fk_datasets_account")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_datasets")),
        sa.UniqueConstraint("source", name=op.f("uq_datasets_source")),
    )
    op.create_table(
        "reports",
        sa.Column("campaign", sa.String(length=40), nullable=False),
        sa.Column("report", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name=op.f("fk_reports_campaign")),
        sa.PrimaryKeyConstraint("campaign", "report", name=op.f("pk_reports")),
    )
    op.create_table(
        "spending",
        sa.Column("account", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("times", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.name"], name=op.f("fk_spending_account")),
        sa.PrimaryKeyConstraint("account", "digest", name=op.f("pk_spending")),
    )
    op.create_table(
        "tallies",
        sa.Column("campaign", sa.String(length=40), nullable=False),
        sa.Column("answer", sa.Integer(), nullable=False),
        sa.Column("times", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name=op.f("fk_tallies_campaign")),
        sa.PrimaryKeyConstraint("campaign", "answer", name=op.f("pk_tallies")),
    )
    op.create_table(
        "answers",
        sa.Column("charge", sa.String(length=40), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["charge"], ["charges.id"], name=op.f("fk_answers_charge")),
        sa.PrimaryKeyConstraint("charge", name=op.f("pk_answers")),
    )


def downgrade() -> None:
    """Undo."""
    op.drop_table("answers")
    op.drop_table("tallies")
    op.drop_table("spending")
    op.drop_table("reports")
    op.drop_table("datasets")
    op.drop_index(op.f("ix_charges_account_created"), table_name="charges")
    op.drop_table("charges")
    op.drop_table("tokens")
    op.drop_index(op.f("ix_jobs_state"), table_name="jobs")
    op.drop_table("jobs")
    op.drop_table("campaigns")
    op.drop_table("accounts")
