"""The ids of counted reports in runs, one for each transaction, instead of one row for each id."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_IDS_IN_A_RUN = 10_000


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "report_ids",
        sa.Column("campaign", sa.Integer(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("ids", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.number"], name=op.f("fk_report_ids_campaign")),
        sa.PrimaryKeyConstraint("campaign", "run", name=op.f("pk_report_ids")),
    )
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":  # random bytes: compressing them costs time and saves nothing
        op.execute("ALTER TABLE report_ids ALTER COLUMN ids SET STORAGE EXTERNAL")
    reports = sa.table("reports", sa.column("campaign"), sa.column("report"))
    runs = sa.table("report_ids", sa.column("campaign"), sa.column("run"), sa.column("ids"))
    for campaign in bind.execute(sa.select(reports.c.campaign).distinct()).scalars().all():
        last, run = b"", 0
        query = sa.select(reports.c.report).where(reports.c.campaign == campaign).order_by(reports.c.report)
        while True:
            found = bind.execute(query.where(reports.c.report > last).limit(_IDS_IN_A_RUN)).scalars().all()
            if not found:
                break
            last, run = bytes(found[-1]), run + 1
            ids = b"".join(bytes(report) for report in found)
            bind.execute(runs.insert().values(campaign=campaign, run=run, ids=ids))
    op.drop_table("reports")
