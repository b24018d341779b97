import psycopg
import pytest

from tacita.testing.ledger import LedgerContract


class TestOnSqlite(LedgerContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite:///{tmp_path}/state.db"


@pytest.mark.postgres
class TestOnPostgres(LedgerContract):
    @pytest.fixture(params=["read committed", "repeatable read"])
    def url(self, postgres_url, request):
        """Also on a database whose default would let a transaction keep an old snapshot."""
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            name = connection.info.dbname
            connection.execute(f"ALTER DATABASE \"{name}\" SET default_transaction_isolation = '{request.param}'")
        return postgres_url
