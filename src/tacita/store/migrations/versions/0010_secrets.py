"""A secret of the ledger, with which digests of private rows are keyed."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    made = op.create_table(
        "secrets",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_secrets")),
    )
    op.bulk_insert(made, [{"name": "ledger", "value": secrets.token_hex(32)}])


def downgrade() -> None:
    """Undo."""
    op.drop_table("secrets")
