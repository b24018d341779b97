"""All tables of state, in one place. A change here needs a migration; a test compares the two."""

from __future__ import annotations

import sqlalchemy as sa

__all__ = [
    "account_data",
    "accounts",
    "answers",
    "campaigns",
    "charges",
    "datasets",
    "events",
    "fences",
    "installation",
    "job_queue",
    "jobs",
    "kept_reports",
    "metadata",
    "model_points",
    "models",
    "policies",
    "questions",
    "releases",
    "report_ids",
    "secrets",
    "spending",
    "tallies",
    "tokens",
]

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

Time = sa.DateTime(timezone=True)

# -- privacy: what may be spent, what was ----------------------------------------------------------------------------

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("unit", sa.String(300), nullable=False),
    sa.Column("neighbours", sa.String(20), nullable=False),
    sa.Column("budget", sa.Text, nullable=False),
    sa.Column(
        "charges", sa.BigInteger, nullable=False
    ),  # how many; moves with each, so that no two can miss each other
    sa.Column("opened", sa.Float),  # epsilon at opening: fixes what the privacy filter adds up
    sa.Column("created", Time, nullable=False),
)

account_data = sa.Table(  # which data an account was charged for: other accounts on the same data are refused
    "account_data",
    metadata,
    sa.Column("account", sa.ForeignKey("accounts.name"), primary_key=True),
    sa.Column("data", sa.String(64), primary_key=True),  # digest
    sa.Column("schema", sa.String(64), nullable=False),  # fingerprint of its domain
    sa.Column("reason", sa.Text, nullable=False),  # why a further account was allowed; empty for the first
    sa.Column("principal", sa.String(200), nullable=False),
    sa.Column("created", Time, nullable=False),
    sa.Index(None, "data"),
)

charges = sa.Table(
    "charges",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("account", sa.ForeignKey("accounts.name"), nullable=False),
    sa.Column("key", sa.String(200), nullable=False),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("question", sa.String(64), nullable=False),  # digest of what was asked
    sa.Column("principal", sa.String(200), nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("created", Time, nullable=False),
    sa.Column("settled", Time),
    sa.UniqueConstraint("account", "key"),
    sa.Index(None, "account", "created"),
)

answers = sa.Table(  # what a settled charge paid for; the only copy that is ever handed out
    "answers",
    metadata,
    sa.Column("charge", sa.ForeignKey("charges.id"), primary_key=True),
    sa.Column("answer", sa.Text, nullable=False),
)

spending = sa.Table(  # the history of an account as a multiset: what accountants read
    "spending",
    metadata,
    sa.Column("account", sa.ForeignKey("accounts.name"), primary_key=True),
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("times", sa.BigInteger, nullable=False),
)

secrets = sa.Table(  # keys of digests of private rows: without them, a digest confirms a guess of the rows
    "secrets",
    metadata,
    sa.Column("name", sa.String(40), primary_key=True),
    sa.Column("value", sa.String(64), nullable=False),
)

fences = sa.Table(  # accounts that are closed: the state was restored, and what was spent since is not known yet
    "fences",
    metadata,
    sa.Column("account", sa.String(200), primary_key=True),  # empty for the whole ledger: new accounts begin closed
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("closed", Time, nullable=False),
)

installation = sa.Table(  # facts about this copy of the state
    "installation",
    metadata,
    sa.Column("name", sa.String(40), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

# -- server: who may do what, with which data ------------------------------------------------------------------------

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("datasets", sa.Text, nullable=False),  # JSON list; null means all
    sa.Column("created", Time, nullable=False),
    sa.Column("expires", Time),
    sa.Column("revoked", Time),
)

datasets = sa.Table(
    "datasets",
    metadata,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("source", sa.String(200), nullable=False, unique=True),  # two would be two budgets for the same people
    sa.Column("domain", sa.Text, nullable=False),
    sa.Column("account", sa.ForeignKey("accounts.name"), nullable=False),
    sa.Column("created", Time, nullable=False),
)

releases = sa.Table(  # released without differential privacy: such releases can be joined with each other
    "releases",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("dataset", sa.String(200), nullable=False),
    sa.Column("kind", sa.String(40), nullable=False),
    sa.Column("recipe", sa.String(64), nullable=False),  # digest of what was asked
    sa.Column("attributes", sa.Text, nullable=False),  # JSON list
    sa.Column("classes", sa.String(64), nullable=False),  # digest of which rows were made equal
    sa.Column("recipient", sa.String(200), nullable=False),
    sa.Column("created", Time, nullable=False),
    sa.Index(None, "dataset", "created"),
)

policies = sa.Table(  # an owner's policy for the release of rows
    "policies",
    metadata,
    sa.Column("dataset", sa.ForeignKey("datasets.name"), primary_key=True),
    sa.Column("policy", sa.Text, nullable=False),
    sa.Column("changed", Time, nullable=False),
)

# -- functions: released once, asked for ever ------------------------------------------------------------------------

models = sa.Table(
    "models",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("dataset", sa.String(200), nullable=False),  # the account that paid
    sa.Column("charge", sa.String(40)),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("about", sa.Text, nullable=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),  # sealed where there is a key
    sa.Column("sealed", sa.Boolean, nullable=False),
    sa.Column("points", sa.BigInteger, nullable=False),  # how many are answered; the next one's place
    sa.Column("created", Time, nullable=False),
    sa.UniqueConstraint("dataset", "name", "version"),
)

model_points = sa.Table(  # answered points: the one answer of each, and what the next ones are drawn from
    "model_points",
    metadata,
    sa.Column("model", sa.ForeignKey("models.id"), primary_key=True),
    sa.Column("point", sa.LargeBinary, primary_key=True),
    sa.Column("place", sa.BigInteger, nullable=False),
    sa.Column("answer", sa.LargeBinary, nullable=False),
    sa.Column("hidden", sa.LargeBinary),  # only of points that were kept; sealed where there is a key
    sa.UniqueConstraint("model", "place"),
)

# -- collection ------------------------------------------------------------------------------------------------------

campaigns = sa.Table(
    "campaigns",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),  # short, because every report carries it
    sa.Column("id", sa.String(64), nullable=False, unique=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("block", sa.Integer, nullable=False),
    sa.Column("looks", sa.Integer, nullable=False),  # how often the stopping rule has looked
    sa.Column("created", Time, nullable=False),
    sa.Column("block_opened", Time),
    sa.Column("closed", Time),
    sa.Column("reason", sa.Text, nullable=False),
)

questions = sa.Table(
    "questions",
    metadata,
    sa.Column("campaign", sa.ForeignKey("campaigns.id"), primary_key=True),
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),  # its place in the design
    sa.Column("block", sa.Integer, nullable=False),
    sa.Column("view", sa.Integer, nullable=False),
    sa.Column("share", sa.Float, nullable=False),
    sa.Column("attributes", sa.Text, nullable=False),
    sa.Column("wire", sa.Text, nullable=False),
)

tallies = sa.Table(  # reports are counted, not kept
    "tallies",
    metadata,
    sa.Column("campaign", sa.ForeignKey("campaigns.id"), primary_key=True),
    sa.Column("question", sa.String(64), primary_key=True),
    sa.Column("counts", sa.LargeBinary, nullable=False),  # 64-bit little-endian, as the channel tallies
    sa.Column("reports", sa.BigInteger, nullable=False),
)

report_ids = sa.Table(  # the ids alone, so that a report counts once: those of one transaction together
    "report_ids",
    metadata,
    sa.Column("campaign", sa.ForeignKey("campaigns.number"), primary_key=True),
    sa.Column("run", sa.Integer, primary_key=True),
    sa.Column("ids", sa.LargeBinary, nullable=False),  # 16 bytes each, in order
)

kept_reports = sa.Table(  # the reports themselves, only where the owner asked for that
    "kept_reports",
    metadata,
    sa.Column("campaign", sa.ForeignKey("campaigns.number"), primary_key=True),
    sa.Column("report", sa.LargeBinary(16), primary_key=True),
    sa.Column("kept", sa.Text, nullable=False),
)

campaign_keys = sa.Table(  # what signs the tokens of an invited campaign
    "campaign_keys",
    metadata,
    sa.Column("campaign", sa.ForeignKey("campaigns.number"), primary_key=True),
    sa.Column("key", sa.LargeBinary, nullable=False),  # PKCS 8
)

invitations = sa.Table(  # one-time codes, as digests; when one was used is not kept: times would link it to a report
    "invitations",
    metadata,
    sa.Column("campaign", sa.ForeignKey("campaigns.number"), primary_key=True),
    sa.Column("code", sa.LargeBinary(32), primary_key=True),
    sa.Column("blinded", sa.LargeBinary(32)),  # digest of what it was used for, so that a lost answer can be repeated
)

# -- the audit log ---------------------------------------------------------------------------------------------------

events = sa.Table(  # only added to: triggers of the migration refuse anything else
    "events",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("at", Time, nullable=False),
    sa.Column("kind", sa.String(40), nullable=False),
    sa.Column("subject", sa.String(200), nullable=False),  # a dataset, campaign, source or token
    sa.Column("principal", sa.String(200), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),  # JSON, small
    sa.Index(None, "kind", "id"),
    sa.Index(None, "subject", "id"),
    sqlite_autoincrement=True,  # no id is given twice
)

# -- long work -------------------------------------------------------------------------------------------------------

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("kind", sa.String(40), nullable=False),
    sa.Column("owner", sa.String(40), nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("progress", sa.Float, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("result", sa.Text),
    sa.Column("error", sa.Text),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("handed_back", sa.Integer, nullable=False, server_default="0"),  # attempts that a stopped worker gave up
    sa.Column("heartbeat", Time),
    sa.Column("created", Time, nullable=False),
    sa.Column("finished", Time),
    sa.Index(None, "state"),
)

job_queue = sa.Table(  # wakes workers where they share the state database; `jobs` is the truth
    "job_queue",
    metadata,
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("message", sa.LargeBinary, nullable=False),
)
