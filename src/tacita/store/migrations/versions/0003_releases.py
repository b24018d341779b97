"""The log of releases."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "releases",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("dataset", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("recipe", sa.String(length=64), nullable=False),
        sa.Column("attributes", sa.Text(), nullable=False),
        sa.Column("classes", sa.String(length=64), nullable=False),
        sa.Column("recipient", sa.String(length=200), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_releases")),
    )
    op.create_index(op.f("ix_releases_dataset_created"), "releases", ["dataset", "created"])
