"""Files as people have them: any delimiter and encoding, blank lines, duplicates, circles, code lists."""

import itertools

import numpy as np
import pytest

from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.anonymize.hierarchies.reading import CodeList, read_hierarchy, read_lines
from tacita.anonymize.hierarchies.rules import Digits
from tacita.errors import InvalidInput


@pytest.mark.parametrize("between", [";", ",", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_any_delimiter_and_encoding(tmp_path, between, encoding):
    rows = [["Köln", "Süd", "*"], ["Genève", "Süd", "*"], ["Århus", "Nord", "*"], ["Malmö", "Nord", "*"]]
    text = "\r\n".join(between.join(row) for row in rows) + "\r\n\r\n"
    path = tmp_path / "towns.csv"
    path.write_bytes(text.encode(encoding))
    made = read_hierarchy(path)
    assert sorted(made.rows) == sorted(rows)


def test_trees_round_trip(tmp_path):
    rng = np.random.default_rng(0)
    for trial in range(20):
        groups = [f"g;{n}" for n in range(5)]
        rows = [[f'leaf "{n}",', groups[int(rng.integers(5))], "all, of; them"] for n in range(30)]
        made = Hierarchy.from_rows("x", rows)
        made.write(tmp_path / f"{trial}.csv")
        again = read_hierarchy(tmp_path / f"{trial}.csv")
        assert (again.paths, again.digest) == (made.paths, made.digest)
        assert Hierarchy.from_rows("x", made.rows).paths == made.paths


def test_blank_lines_and_spaces_are_left_out(tmp_path):
    (tmp_path / "x.csv").write_text("a ; p;*\n\n b;p ;*\n;;\n\nc;q;*\n")
    assert read_hierarchy(tmp_path / "x.csv").leaves == ("a", "b", "c")
    assert [at for at, _ in read_lines(tmp_path / "x.csv")] == [1, 3, 6]


def test_rules_are_read_from_yaml(tmp_path):
    (tmp_path / "zip.yaml").write_text("digits: {mask: [1, 3]}\n")
    assert read_hierarchy(tmp_path / "zip.yaml") == Digits(mask=(1, 3))


def test_what_cannot_be_read_is_refused(tmp_path):
    for name, content in (
        ("x.csv", b""),
        ("x.pdf", b"abc"),
        ("y.yaml", b"\xff\xfe\xff"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInput):
            read_hierarchy(tmp_path / name)
    with pytest.raises(InvalidInput):
        read_hierarchy(tmp_path / "absent.csv")


# -- code lists --------------------------------------------------------------------------------------------------------


def nuts_like(seed):
    """Regions of three levels below countries, as in NUTS: DE, DE1, DE12, DE123."""
    rng = np.random.default_rng(seed)
    codes = {}
    for country in ("DE", "FR", "IT"):
        codes[country] = ""
        for one in range(1, int(rng.integers(2, 5))):
            codes[f"{country}{one}"] = country
            for two in range(1, int(rng.integers(2, 5))):
                codes[f"{country}{one}{two}"] = f"{country}{one}"
                for three in range(1, int(rng.integers(2, 5))):
                    codes[f"{country}{one}{two}{three}"] = f"{country}{one}{two}"
    return codes


@pytest.mark.parametrize("seed", range(5))
def test_all_forms_of_a_code_list_give_the_same_tree(tmp_path, seed):
    codes = nuts_like(seed)
    leaves = [code for code in codes if len(code) == 5]
    (tmp_path / "parents.csv").write_text("\n".join(["code;parent", *(f"{c};{p}" for c, p in codes.items())]))
    (tmp_path / "prefixes.csv").write_text("\n".join(["code,label", *(f"{c},Región {c}" for c in codes)]), "latin-1")
    wide = ["code\tone\ttwo\tthree", *(f"{c}\t{c[:4]}\t{c[:3]}\t{c[:2]}" for c in leaves)]
    (tmp_path / "wide.csv").write_text("\n".join(wide))
    made = [CodeList.read(path).hierarchy() for path in sorted(tmp_path.iterdir())]
    slow = {("*", leaf[:2], leaf[:3], leaf[:4], leaf) for leaf in leaves}
    assert [set(each.paths) for each in made] == [slow] * 3
    labelled = CodeList.read(tmp_path / "prefixes.csv").hierarchy(leaves[:3], labelled=True)
    assert labelled.paths[0] == (
        "*",
        f"{leaves[0][:2]} Región {leaves[0][:2]}",
        f"{leaves[0][:3]} Región {leaves[0][:3]}",
        f"{leaves[0][:4]} Región {leaves[0][:4]}",
        leaves[0],
    )


def test_isco_like_codes_with_a_level_that_has_codes_below(tmp_path):
    codes = ["".join(digits) for n in (1, 2, 3) for digits in itertools.product("12", repeat=n)]
    (tmp_path / "isco.csv").write_text("\n".join(["value", *codes]))
    made = CodeList.read(tmp_path / "isco.csv").hierarchy(["111", "12", "2"])
    assert dict(zip(made.leaves, made.paths, strict=True)) == {
        "111": ("*", "1", "11", "111"),
        "12": ("*", "1", "12", "12"),
        "2": ("*", "2", "2", "2"),
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("code,parent\na,p\nb,q\na,q\np,\nq,\n", "'a' is there twice, on lines 2 and 4"),
        ("code,parent\na,b\nb,c\nc,a\nd,\n", "round in a circle"),
        ("code,parent\nrhine,germny\ngermany,\n", "Did you mean 'germany'"),
        ("code,parent\na,\n,b\n", "line 3 has no code"),
        ("code,parent\na,b\nb,b\n", "round in a circle"),
        ("code,label\n" + "x" * 201 + ",long\nb,short\n", "more than 200"),
        ("code,parent\n0,\n" + "".join(f"{n + 1},{n}\n" for n in range(80)), "at most 64 levels"),
    ],
)
def test_faults_of_code_lists(tmp_path, text, words):
    (tmp_path / "codes.csv").write_text(text)
    with pytest.raises(InvalidInput, match=words):
        CodeList.read(tmp_path / "codes.csv")


def test_several_faults_at_once_and_unknown_levels():
    lines = [(1, ["code", "parent"]), (2, ["a", "x"]), (3, ["b", "y"]), (4, ["x", ""]), (5, ["z"])]
    with pytest.raises(InvalidInput, match="line 5 has 1 values instead of 2"):
        CodeList.from_lines("codes", lines)
    codes = CodeList.from_lines("codes", [(1, ["code"]), (2, ["1"]), (3, ["11"]), (4, ["12"])])
    with pytest.raises(InvalidInput, match=r"has 2 faults.*'13'"):
        codes.hierarchy(["11", "13", "99"])
    with pytest.raises(InvalidInput, match="header"):
        CodeList.from_lines("codes", [])
