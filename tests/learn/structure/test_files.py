import json

import pytest
from tests.learn.structure.test_learned import levels, mixed, numbers
from tests.query.models.test_network import people, released

from tacita.errors import InvalidInput, SourceUnavailable, TacitaError, UnknownName
from tacita.learn.structure.files import read_network
from tacita.learn.structure.learned import learn_network
from tacita.models.bif import write_bif
from tacita.models.search import Search
from tacita.privacy.budget import Budget
from tacita.query.models.released_network import ReleasedNetwork


def test_every_kind_of_file_is_read(tmp_path):
    learned = [learn_network(each, Search(), score="clg") for each in (numbers(400)[1], levels(400)[1], mixed())]
    _, engine = people(numbers(1)[0], 400)
    paid = released(engine, Budget.pure(1.0))
    texts = {
        "gaussian.json": (learned[0].to_json(), learned[0].parents, "No guarantee"),
        "discrete.json": (learned[1].to_json(), learned[1].parents, "No guarantee"),
        "mixed.json": (learned[2].to_json(), learned[2].parents, "No guarantee"),
        "paid.json": (paid.to_json(), paid.parents, "The network is"),
        "bare.json": (json.dumps(learned[0].network.as_dict()), learned[0].parents, "No guarantee is stated"),
        "bare-discrete.json": (json.dumps(learned[1].network.as_dict()), learned[1].parents, "No guarantee"),
        "bare-mixed.json": (json.dumps(learned[2].network.as_dict()), learned[2].parents, "No guarantee"),
        "published.bif": (write_bif(learned[1].network), learned[1].parents, "No guarantee"),
        "structure.json": (json.dumps({"parents": {"a": [], "b": ["a"]}}), {"a": (), "b": ("a",)}, "No guarantee"),
    }
    for name, (text, parents, statement) in texts.items():
        path = tmp_path / name
        path.write_text(text)
        found = read_network(path)
        assert found.label == path.stem
        assert dict(found.parents) == dict(parents), name
        assert found.statement.startswith(statement)
        assert (found.content is None) == (name == "structure.json")
    assert isinstance(read_network(tmp_path / "paid.json").content, ReleasedNetwork)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("not json", InvalidInput),
        ("[]", InvalidInput),
        ("{}", InvalidInput),
        ('{"tacita": "learned-network/1"}', InvalidInput),
        ('{"parents": {"a": ["b"], "b": ["a"]}}', InvalidInput),
        ('{"parents": {"a": ["wind"]}}', UnknownName),
        ('{"parents": {"a": 3}}', InvalidInput),
    ],
)
def test_bad_files_are_refused(tmp_path, text, error):
    path = tmp_path / "net.json"
    path.write_text(text)
    with pytest.raises(error):
        read_network(path)
    with pytest.raises(SourceUnavailable):
        read_network(tmp_path / "nothing.json")
    (tmp_path / "net.bif").write_text("network {")
    with pytest.raises(TacitaError):
        read_network(tmp_path / "net.bif")
