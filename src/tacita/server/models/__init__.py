"""What travels over HTTP, as pydantic models: the server checks with them, the client reads with them.

No model has a field that could hold a `Table` or an exact count. Answers about data are releases, whose JSON
is made by `Release.as_dict` alone.
"""

from tacita.server.models.assessments import AssessmentInfo, AssessmentRequest, ComparisonInfo, ComparisonRequest
from tacita.server.models.audit import AuditPage, EventInfo
from tacita.server.models.base import Problem
from tacita.server.models.budgets import Balance, BudgetModel, ChargeInfo, ChargePage, RaiseBudget
from tacita.server.models.campaigns import (
    Accepted,
    BlockInfo,
    BlockModel,
    CampaignInfo,
    CollectionPlan,
    IntegrityInfo,
    NetworkInfo,
    NewCampaign,
    PlannedCollection,
    ReportBatch,
    RuleInfo,
    Sheet,
    TallyInfo,
    TallyModel,
    VerdictInfo,
)
from tacita.server.models.datasets import DatasetInfo, NewDataset
from tacita.server.models.federated import FederatedPlan, FederatedRequest, HolderInfo
from tacita.server.models.functions import (
    BundleRequest,
    FitRequest,
    FunctionInfo,
    FunctionParameters,
    FunctionPlanInfo,
    FunctionRequest,
    PredictionsInfo,
    PredictRequest,
)
from tacita.server.models.jobs import JobInfo, QueryJob
from tacita.server.models.queries import (
    Plan,
    QueryRequest,
    ReleaseModel,
    ReleasesModel,
    SqlPlan,
    SqlRequest,
    StatisticsModel,
    TableQuery,
)
from tacita.server.models.releases import (
    AnonymizedInfo,
    AnonymizedPlan,
    AnonymizedRequest,
    PolicyInfo,
    PolicyModel,
    ReleasedInfo,
    StatementInfo,
    SyntheticInfo,
    SyntheticPlan,
    SyntheticRequest,
)
from tacita.server.models.sources import SourceInfo
from tacita.server.models.tokens import Health, NewToken, TokenInfo, TokenIssued

__all__ = [
    "Accepted",
    "AnonymizedInfo",
    "AnonymizedPlan",
    "AnonymizedRequest",
    "AssessmentInfo",
    "AssessmentRequest",
    "AuditPage",
    "Balance",
    "BlockInfo",
    "BlockModel",
    "BudgetModel",
    "BundleRequest",
    "CampaignInfo",
    "ChargeInfo",
    "ChargePage",
    "CollectionPlan",
    "ComparisonInfo",
    "ComparisonRequest",
    "DatasetInfo",
    "EventInfo",
    "FederatedPlan",
    "FederatedRequest",
    "FitRequest",
    "FunctionInfo",
    "FunctionParameters",
    "FunctionPlanInfo",
    "FunctionRequest",
    "Health",
    "HolderInfo",
    "IntegrityInfo",
    "JobInfo",
    "NetworkInfo",
    "NewCampaign",
    "NewDataset",
    "NewToken",
    "Plan",
    "PlannedCollection",
    "PolicyInfo",
    "PolicyModel",
    "PredictRequest",
    "PredictionsInfo",
    "Problem",
    "QueryJob",
    "QueryRequest",
    "RaiseBudget",
    "ReleaseModel",
    "ReleasedInfo",
    "ReleasesModel",
    "ReportBatch",
    "RuleInfo",
    "Sheet",
    "SourceInfo",
    "SqlPlan",
    "SqlRequest",
    "StatementInfo",
    "StatisticsModel",
    "SyntheticInfo",
    "SyntheticPlan",
    "SyntheticRequest",
    "TableQuery",
    "TallyInfo",
    "TallyModel",
    "TokenInfo",
    "TokenIssued",
    "VerdictInfo",
]
