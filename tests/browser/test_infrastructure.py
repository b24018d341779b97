"""The checks of these tests are able to fail."""

import pytest

SETTINGS = {"TACITA_WORKER": "false"}


@pytest.mark.parametrize("script", ["console.error('no')", "setTimeout(() => { throw Error('no') })"])
def test_a_page_that_complains_fails_its_test(browse, script):
    watched = type(browse)(browse.chromium)
    page = watched()
    page.set_content(f"<script>{script}</script>")
    page.wait_for_timeout(50)
    with pytest.raises(AssertionError, match="no"):
        watched.close()


def test_a_request_that_fails_fails_its_test(browse):
    watched = type(browse)(browse.chromium)
    page = watched()
    page.set_content("<img alt='' src='http://127.0.0.1:9/nothing.png'>")
    watched.expect("something else")
    with pytest.raises(AssertionError, match=r"nothing\.png"):
        watched.close()


def test_a_picture_without_a_name_is_found(page, check_accessible):
    page.set_content("<html lang=en><title>x</title><main><h1>x</h1><p>all is well</p></main>")
    check_accessible(page)
    page.set_content("<html lang=en><title>x</title><main><h1>x</h1><img src='data:,'></main>")
    with pytest.raises(AssertionError, match="image-alt"):
        check_accessible(page)


def test_the_service_comes_back(service):
    with service.client() as client:
        assert client.datasets() == []
    service.kill()
    service.start()
    with service.client() as client:
        assert client.datasets() == []
