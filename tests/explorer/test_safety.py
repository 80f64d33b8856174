"""Who may talk to the explorer: nobody without the token, no other page, and no other name of this machine."""

import pytest

from brittle.explorer.safety import Safety, allowed_hosts, is_loopback
from tests.explorer.conftest import HOST, TOKEN

starlette = pytest.importorskip("starlette")
from starlette.applications import Starlette  # noqa: E402
from starlette.responses import PlainTextResponse  # noqa: E402
from starlette.routing import Route  # noqa: E402
from starlette.testclient import TestClient  # noqa: E402

SECRET = "all that the explorer knows"


def opened(**more: object) -> TestClient:
    app = Starlette(routes=[Route("/{rest:path}", lambda _: PlainTextResponse(SECRET), methods=["GET", "POST"])])
    safe = Safety(app, token=TOKEN, hosts=allowed_hosts("127.0.0.1", 8765), **more)
    return TestClient(safe, base_url=f"http://{HOST}")


COOKIE = {"cookie": f"brittle-explore-8765={TOKEN}"}
REFUSED = {
    "no token": ("/live", {}, 403),
    "a wrong token": ("/?token=guess", {}, 403),
    "an empty token": ("/?token=", {}, 403),
    "a token elsewhere": (f"/live?token={TOKEN}", {}, 403),
    "a token that is no text": ("/?token=%ff%00é", {}, 403),
    "a wrong token in the path": ("/t/guess/live", {}, 403),
    "a piece of the token": (f"/t/{TOKEN[:-1]}/live", {}, 403),
    "no token in the path, but a cookie": ("/t//live", COOKIE, 403),
    "a wrong cookie": ("/live", {"cookie": "brittle-explore-8765=guess"}, 403),
    "the cookie of another explorer": ("/live", {"cookie": f"brittle-explore-8766={TOKEN}"}, 403),
    "a cookie that is none": ("/live", {"cookie": "brittle-explore-8765"}, 403),
    "a foreign page": ("/live", {**COOKIE, "origin": "https://evil.example"}, 403),
    "a page of another port": ("/live", {**COOKIE, "origin": "http://127.0.0.1:80"}, 403),
    "a page without origin": ("/live", {**COOKIE, "origin": "null"}, 403),
    "a foreign page with the token": (f"/t/{TOKEN}/live", {"origin": "https://evil.example"}, 403),
    "another name of this machine": ("/live", {**COOKIE, "host": "evil.example:8765"}, 400),
    "another name with the token": (f"/t/{TOKEN}/live", {"host": "evil.example:8765"}, 400),
    "another port": ("/live", {**COOKIE, "host": "127.0.0.1:80"}, 400),
    "another address": ("/live", {**COOKIE, "host": "10.0.0.1:8765"}, 400),
    "no host": ("/live", {**COOKIE, "host": ""}, 400),
}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(("path", "headers", "status"), REFUSED.values(), ids=REFUSED)
def test_others_are_refused_and_learn_nothing(method: str, path: str, headers: dict[str, str], status: int) -> None:
    answer = opened().request(method, path, headers=headers)
    assert answer.status_code == status
    assert SECRET not in answer.text
    assert TOKEN not in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765"])
def test_who_opens_the_address_gets_a_cookie_that_works(host: str) -> None:
    client = opened()
    answer = client.get(f"/?token={TOKEN}", headers={"host": host})
    assert answer.status_code == 200
    assert SECRET not in answer.text  # the page that gives the cookie has the token in its address, and shows nothing
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
    same = {"host": host, "cookie": cookie.partition(";")[0], "origin": f"http://{host.lower()}"}
    assert client.get("/live", headers=same).text == SECRET
    assert client.post("/live", headers=same).text == SECRET


def test_a_frame_needs_no_cookie_and_may_be_framed() -> None:
    answer = opened().get(f"/t/{TOKEN}/live")
    assert answer.text == SECRET
    assert "frame-ancestors" not in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in opened().get("/live", headers=COOKIE).headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/live", f"/t/{TOKEN}/live", "/?token=guess", f"/?token={TOKEN}"])
def test_every_answer_forbids_what_pages_do_not_need(path: str) -> None:
    headers = opened().get(path, headers=COOKIE if path == "/live" else {}).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


def test_where_others_may_come_from_an_address_is_enough_and_a_name_is_not() -> None:
    client = opened(any_address=True)
    assert client.get("/live", headers={**COOKIE, "host": "10.0.0.1:8765"}).text == SECRET
    assert client.get("/live", headers={**COOKIE, "host": "[fe80::1]:8765"}).text == SECRET
    assert client.get("/live", headers={**COOKIE, "host": "evil.example:8765"}).status_code == 400


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
    ],
)
def test_hosts_that_nobody_else_can_reach(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone
