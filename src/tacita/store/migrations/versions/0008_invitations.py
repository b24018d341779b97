"""Invited campaigns: the keys that sign tokens, and the codes that are traded for them."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "campaign_keys",
        sa.Column("campaign", sa.Integer(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.number"], name=op.f("fk_campaign_keys_campaign_campaigns")),
        sa.PrimaryKeyConstraint("campaign", name=op.f("pk_campaign_keys")),
    )
    op.create_table(
        "invitations",
        sa.Column("campaign", sa.Integer(), nullable=False),
        sa.Column("code", sa.LargeBinary(length=32), nullable=False),
        sa.Column("blinded", sa.LargeBinary(length=32), nullable=True),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.number"], name=op.f("fk_invitations_campaign_campaigns")),
        sa.PrimaryKeyConstraint("campaign", "code", name=op.f("pk_invitations")),
    )


def downgrade() -> None:
    """Revert."""
    op.drop_table("invitations")
    op.drop_table("campaign_keys")
