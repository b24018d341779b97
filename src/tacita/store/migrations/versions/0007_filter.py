"""Accounts remember the epsilon they were opened with, and which data they were charged for."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("accounts", sa.Column("opened", sa.Float(), nullable=True))
    accounts = sa.table("accounts", sa.column("name"), sa.column("budget"), sa.column("opened"))
    bind = op.get_bind()
    for name, budget in bind.execute(sa.select(accounts.c.name, accounts.c.budget)).all():
        epsilon = json.loads(budget).get("epsilon")
        bind.execute(accounts.update().where(accounts.c.name == name).values(opened=epsilon))
    op.create_table(
        "account_data",
        sa.Column("account", sa.String(length=200), nullable=False),
        sa.Column("data", sa.String(length=64), nullable=False),
        sa.Column("schema", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("principal", sa.String(length=200), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.name"], name=op.f("fk_account_data_account")),
        sa.PrimaryKeyConstraint("account", "data", name=op.f("pk_account_data")),
    )
    op.create_index(op.f("ix_account_data_data"), "account_data", ["data"])
