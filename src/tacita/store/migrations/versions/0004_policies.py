"""Policies of owners for the release of rows."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "policies",
        sa.Column("dataset", sa.String(length=200), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("changed", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.name"], name=op.f("fk_policies_dataset")),
        sa.PrimaryKeyConstraint("dataset", name=op.f("pk_policies")),
    )
