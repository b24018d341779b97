"""Functions that are asked as a service, and the points that they have answered."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "models",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("dataset", sa.String(length=200), nullable=False),
        sa.Column("charge", sa.String(length=40), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("sealed", sa.Boolean(), nullable=False),
        sa.Column("points", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
        sa.UniqueConstraint("dataset", "name", "version", name=op.f("uq_models_dataset_name_version")),
    )
    op.create_table(
        "model_points",
        sa.Column("model", sa.String(length=40), nullable=False),
        sa.Column("point", sa.LargeBinary(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("hidden", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["model"], ["models.id"], name=op.f("fk_model_points_model")),
        sa.PrimaryKeyConstraint("model", "point", name=op.f("pk_model_points")),
        sa.UniqueConstraint("model", "place", name=op.f("uq_model_points_model_place")),
    )
