import pytest

from tacita.testing.ledger import LedgerContract


class TestOnSqlite(LedgerContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite:///{tmp_path}/state.db"


@pytest.mark.postgres
class TestOnPostgres(LedgerContract):
    @pytest.fixture
    def url(self, postgres_url):
        return postgres_url
