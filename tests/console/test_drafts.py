from tacita.console.drafts import MOST_DRAFTS, Draft, draft_of


def test_what_was_typed_is_taken_once_when_the_page_is_built_again():
    draft = Draft()
    draft.begin()
    assert draft.take("title", "mine") == "mine"
    draft.settle()
    draft.note("title", "typed")
    draft.begin()
    assert draft.take("title", "mine") == "typed"
    assert draft.restored
    assert draft.take("title", "reset by the page") == "reset by the page"
    assert draft.values == {"title": "reset by the page"}
    draft.begin()
    draft.settle()
    assert draft.take("title", "mine") == "mine"  # a field that appears later is not the one of before


def test_what_nobody_typed_is_not_kept():
    draft = Draft()
    draft.begin()
    assert draft.take("budget", 1.0) == 1.0
    draft.settle()
    draft.begin()
    assert draft.take("budget", 2.0) == 2.0  # it was raised meanwhile
    assert not draft.restored


def test_what_no_longer_fits_is_dropped():
    draft = Draft()
    draft.note("kind", "old")
    draft.begin()
    assert draft.take("kind", "new", fits=lambda value: value == "new") == "new"
    assert not draft.restored


def test_a_form_that_was_sent_begins_afresh():
    draft = Draft()
    draft.note("title", "typed")
    draft.forget()
    draft.begin()
    assert draft.take("title", "mine") == "mine"
    assert not draft.restored


def test_the_oldest_drafts_go_first():
    drafts: dict[str, Draft] = {}
    first = draft_of(drafts, "0")
    for number in range(MOST_DRAFTS):
        draft_of(drafts, str(number))
    assert draft_of(drafts, "0") is first
    draft_of(drafts, "one more")
    assert len(drafts) == MOST_DRAFTS
    assert "1" not in drafts
    assert draft_of(drafts, "0") is first
