"""Redis URLs: accepted forms, the text of a refusal, and hidden passwords."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sharedq.redis.deployment import Deployment, DeploymentError
from sharedq.settings.loader import load_settings
from sharedq.settings.redis_url import URL_FORMS, mask_password, mask_urls
from sharedq.settings.values import ConfigError
from tests.support.examples import examples


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost",
        "redis://localhost:6380/2",
        "redis://[::1]:6379",
        "rediss://user:s%40cret@redis.example:6379/0",
        "unix:///run/redis.sock",
        "unix:///run/redis.sock?db=1",
        "redis+sentinel://a:26379,b:26379/mymaster",
        "redis+sentinel://:secret@a,b,c/mymaster",
        "redis+sentinel://:secret@a,b/mymaster?sentinel_username=u&sentinel_password=p",
        "redis+cluster://a:7000,b:7001,c:7002",
        "rediss+cluster://a",
        "rediss+sentinel://a:26379/mymaster?ssl_ca_certs=/etc/ca.pem&ssl_check_hostname=no&db=2",
    ],
)
def test_urls_that_are_taken(tmp_path: Path, url: str) -> None:
    found = load_settings({"HOME": str(tmp_path), "IGQ_REDIS_URL": url})

    assert found.redis_url == url
    assert not found.is_embedded


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("localhost:6379", "allowed: redis://, rediss://, unix://"),
        ("http://localhost", "allowed: redis://, rediss://, unix://"),
        ("redis://", "host's name or port is missing"),
        ("redis://h:", "host's name or port is missing"),
        ("redis://h:x", "port is a number"),
        ("redis://h:70000", "port is a number"),
        ("redis://h:0", "port is a number"),
        ("redis://h/db", "database is a number"),
        ("redis://a,b", "one server only"),
        ("redis://a b", "no blanks"),
        ("unix://", "path of the socket is missing"),
        ("unix:///run/", "path of the socket is missing"),
        ("redis+sentinel://a,b", "one name, the service's, is expected"),
        ("redis+sentinel://a,b/service/2", "one name, the service's, is expected"),
        ("redis+cluster://a/1", "a Cluster has no databases"),
        ("redis://h?protocol=3", "allowed after the ?: username, password, db"),
        ("redis://h?decode_responses=True", "allowed after the ?: username, password, db"),
        ("redis://h?ssl_ca_certs=/etc/ca.pem", "allowed after the ?: username, password, db"),
        ("rediss://h?foo=bar", "ssl_ca_certs"),
        ("redis://h?sentinel_username=x", "allowed after the ?: username, password, db"),
        ("redis://h?db=two", "database is a number"),
        ("rediss://h?ssl_cert_reqs=maybe", "ssl_cert_reqs is one of none, optional, required"),
        ("redis+cluster://a,,b", "host's name or port is missing"),
    ],
)
def test_other_urls_are_refused_with_the_form_that_is_allowed(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings({"HOME": str(tmp_path), "IGQ_REDIS_URL": url})

    assert str(caught.value).startswith(f"IGQ_REDIS_URL={mask_password(url)}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:S3CRET@h:x",
        "redis://:S3CRET@h:x",
        "redis://u:S3/CRET@h:x",
        "redis://u:p@S3CRET@h:x",
        "nonsense://u:S3CRET@h",
        "redis+sentinel://u:S3CRET@a,b",
        "redis://h:x?password=S3CRET",
        "redis+sentinel://h:x/s?sentinel_password=S3CRET",
        "rediss://h:x?ssl_password=S3CRET",
        "redis://h:x?%70assword=S3CRET",
        "redis://h:x?pasword=S3CRET",
        "redis://h:x?password=S3 CRET",
        "redis://h:x?password=S3&CRET",
        "redis://h:x?password=S3&S=S3CRET",
        "redis://h:x?password=S3@CRET",
        "redis://h:x#password=S3CRET",
        "redis://u:S3 CRET@h:x",
        "redis://u:S3?x=CRET@h:x",
        "redis://u%3AS3CRET@h:x",
        "redis://u:S3CRET",
        "redis://u:S3CRET/0",
        "redis://u:S3/CRET",
        "redis:/:S3CRET@host",
        "redis:S3CRET@host",
        ":S3CRET@host",
        "redis+sentinel://:S3/CRET@a,b/service/2",
        "redis+sentinel://a,b/service?password=S3CRET&nonsense=1",
    ],
)
def test_an_error_shows_no_password(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings({"HOME": str(tmp_path), "IGQ_REDIS_URL": url})

    assert "CRET" not in str(caught.value)
    assert "***" in str(caught.value)


@example(scheme="unix://", noise="@/", shape="u:{}@h", after="")
@example(scheme="redis+sentinel://", noise="@=/", shape="u:{}@h", after="")
@example(scheme="redis:/", noise="://", shape="u:{}@h", after="")
@settings(max_examples=examples(300))
@given(
    scheme=st.sampled_from(["redis://", "rediss://", "unix://", "redis+sentinel://", "redis+cluster://", "redis:/"]),
    noise=st.text("ab:@/?#&=%,. \t[]\\\u202e", max_size=6),
    shape=st.sampled_from(["u:{}@h", ":{}@h:1/0", "h?password={}", "h?db=1&%70assword={}", "h/x?ssl_password={}"]),
    after=st.sampled_from(["", "?db=1", "/svc", ":x"]),
)
def test_no_shape_of_a_url_shows_a_part_of_its_password(scheme: str, noise: str, shape: str, after: str) -> None:
    """A secret with unescaped marks of a URL is hidden whole if a user name or a parameter names it."""
    url = scheme + shape.format(f"S3CRET{noise}S3CRET") + after

    assert "S3CRET" not in mask_password(url)
    with contextlib.suppress(DeploymentError):
        assert "S3CRET" not in repr(vars(Deployment(url)))
    with contextlib.suppress(ConfigError):
        assert "S3CRET" not in repr(load_settings({"HOME": "/tmp", "IGQ_REDIS_URL": url}))


@pytest.mark.parametrize("url", ["redis://u:S3CRET", "nonsense://:S3CRET@h", "redis+sentinel://:S3CRET@h:x/svc"])
def test_a_url_that_comes_past_the_settings_shows_no_password_either(url: str) -> None:
    with pytest.raises(DeploymentError) as caught:
        Deployment(url)

    assert "S3CRET" not in str(caught.value)


def test_urls_in_a_text_are_masked() -> None:
    text = mask_urls("Got unexpected extra arguments (redis://u:S3CRET@h:6379 rediss://h?ssl_password=S3CRET)")

    assert "S3CRET" not in text
    assert text.startswith("Got unexpected extra arguments (redis://u:***@h:6379 rediss://h?ssl_password=***")


def test_settings_show_no_password(tmp_path: Path) -> None:
    found = load_settings({"HOME": str(tmp_path), "IGQ_REDIS_URL": "redis://u:S3CRET@h:6379/0"})

    assert found.redis_url_masked == "redis://u:***@h:6379/0"
    assert "S3CRET" not in repr(found)


def test_text_without_a_password_is_left_as_it_is() -> None:
    assert mask_password("redis://user@h:6379/1 is down") == "redis://user@h:6379/1 is down"


@pytest.mark.parametrize("form", URL_FORMS.values())
def test_a_form_that_an_error_shows_stays_readable(form: str) -> None:
    assert mask_urls(form) == form.replace("PASSWORD", "***")
