"""Settings: their sources, the precedence, and the text of an error."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from sharedq.settings.loader import _PATHS, ENVIRONMENT, OTHER_VARIABLES, load_settings, prepare_data_dir
from sharedq.settings.values import ConfigError, Settings


def error_of(env: Mapping[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(env)
    text = str(caught.value)
    assert "\n" not in text
    return text


def toml(tmp_path: Path, text: str, **env: str) -> dict[str, str]:
    path = tmp_path / "igq.toml"
    path.write_text(text, encoding="utf-8")
    return {"IGQ_CONFIG": str(path), "HOME": str(tmp_path)} | env


def test_without_file_and_environment_the_defaults_are_in_force(tmp_path: Path) -> None:
    settings = load_settings({"HOME": str(tmp_path)})

    assert settings.group == "QSG1"
    assert settings.is_embedded
    assert settings.redis_url_masked == "embedded"
    assert settings.data_dir == tmp_path / ".local/share/igq"
    assert settings.lease_ms == 5_000
    assert settings.durability == "report"
    assert settings.journal
    assert settings.journal_max_entries == 1_000_000
    assert settings.default_structure == "APPL1"


def test_data_goes_to_the_users_data_home_where_one_is_named(tmp_path: Path) -> None:
    settings = load_settings({"HOME": "/nowhere", "XDG_DATA_HOME": str(tmp_path)})

    assert settings.data_dir == tmp_path / "igq"


def test_environment_wins_over_file_and_file_over_defaults(tmp_path: Path) -> None:
    env = toml(tmp_path, 'group = "NY03"\nlease_ms = 2000\n', IGQ_LEASE_MS="900")

    settings = load_settings(env)

    assert (settings.group, settings.lease_ms, settings.wait_replicas) == ("NY03", 900, 0)


def test_a_variable_set_to_nothing_counts_as_unset(tmp_path: Path) -> None:
    settings = load_settings({"HOME": str(tmp_path), "IGQ_REDIS_URL": "", "IGQ_GROUP": "", "IGQ_CONFIG": ""})

    assert settings == load_settings({"HOME": str(tmp_path)})


def test_text_of_the_environment_becomes_numbers_and_truth_values(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "IGQ_JOURNAL": "false", "IGQ_WAIT_REPLICAS": "2"}

    settings = load_settings(env)

    assert settings.journal is False
    assert settings.wait_replicas == 2


def test_relative_data_dir_of_a_file_starts_at_the_file(tmp_path: Path) -> None:
    assert load_settings(toml(tmp_path, 'data_dir = "here"')).data_dir == tmp_path / "here"


@pytest.mark.parametrize("name", ["data_dir", "backup_dir"])
@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_path_of_a_file_is_refused(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"igq.toml: {name}=.*: allowed: a path$"):
        load_settings(toml(tmp_path, f'{name} = "{value}"'))


def test_a_file_can_hold_the_redis_url(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("redis://igq:secret@redis:6379\n", "utf-8")
    env = toml(tmp_path, 'redis_url = "redis://other:6379"\n', IGQ_REDIS_URL_FILE=str(tmp_path / "url"))

    settings = load_settings(env)

    assert settings.redis_url == "redis://igq:secret@redis:6379"
    assert "secret" not in settings.redis_url_masked


def test_a_redis_url_of_the_environment_beats_a_url_file(tmp_path: Path) -> None:
    env = toml(tmp_path, 'redis_url_file = "url"\n', IGQ_REDIS_URL="redis://mine:6379")

    assert load_settings(env).redis_url == "redis://mine:6379"


@pytest.mark.parametrize("held", ["", "hunter2", "redis://:hunter2@host:port", "redis://u:hunter2@h:1#x"])
def test_an_unusable_url_file_is_refused_without_what_it_holds(tmp_path: Path, held: str) -> None:
    (tmp_path / "url").write_text(held, "utf-8")

    error = error_of(toml(tmp_path, 'redis_url_file = "url"\n'))

    assert error.startswith(f"redis_url_file={tmp_path / 'url'}: holds no Redis URL: ")
    assert "hunter2" not in error


def test_a_url_file_beside_a_url_or_without_a_file_is_refused(tmp_path: Path) -> None:
    both = 'redis_url_file = "url"\nredis_url = "redis://h:1"\n'
    assert error_of(toml(tmp_path, both)) == (
        f"redis_url_file={tmp_path / 'url'}: redis_url is set too; allowed: one of them"
    )
    assert error_of(toml(tmp_path, 'redis_url_file = "url"\n')) == (
        f"redis_url_file={tmp_path / 'url'}: cannot be read: No such file or directory"
    )


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    settings = load_settings({"HOME": str(tmp_path)})

    with pytest.raises(ValidationError, match="frozen"):
        settings.group = "QSG2"


@pytest.mark.parametrize("name", ["Q", "NY03", "$A#@", "QSG1"])
def test_group_names_that_are_taken(tmp_path: Path, name: str) -> None:
    assert load_settings({"HOME": str(tmp_path), "IGQ_GROUP": name}).group == name


@pytest.mark.parametrize("name", ["qsg1", "QSG10", "1QSG", "Q-1", "Q\n", " Q"])
def test_other_group_names_are_refused_with_what_is_allowed(tmp_path: Path, name: str) -> None:
    text = error_of({"HOME": str(tmp_path), "IGQ_GROUP": name})

    assert text.startswith("IGQ_GROUP=")
    assert "1 to 4 of A-Z 0-9 $ # @" in text


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("lease_ms", "499", "500 to 600000 milliseconds"),
        ("lease_ms", "5 s", "500 to 600000 milliseconds"),
        ("durability", "maximal", "report or strict"),
        ("wait_replicas", "-1", "0 to 100 replicas"),
        ("wait_replicas_timeout_ms", "0", "1 to 60000 milliseconds"),
        ("journal", "perhaps", "true or false"),
        ("journal_max_entries", "10", "1000 to 1000000000 entries"),
        ("default_structure", "appl1", "1 to 12 of A-Z 0-9, the first a letter"),
    ],
)
def test_error_names_setting_value_and_what_is_allowed(tmp_path: Path, name: str, value: str, allowed: str) -> None:
    variable = f"IGQ_{name.upper()}"

    assert error_of({"HOME": str(tmp_path), variable: value}) == f"{variable}={value}: allowed: {allowed}"


def test_a_file_has_types_and_they_must_be_right(tmp_path: Path) -> None:
    env = toml(tmp_path, 'lease_ms = "2000"')

    assert error_of(env) == (
        f"{env['IGQ_CONFIG']}: lease_ms='2000': this is text, write it without quotes; "
        "allowed: 500 to 600000 milliseconds"
    )


def test_wrong_line_in_the_file_is_found_where_the_environment_covers_it(tmp_path: Path) -> None:
    assert "igq.toml: lease_ms=1: " in error_of(toml(tmp_path, "lease_ms = 1", IGQ_LEASE_MS="2000"))


def test_unknown_setting_is_refused_with_the_nearest_known_one(tmp_path: Path) -> None:
    text = error_of(toml(tmp_path, "lease_millis = 2000"))

    assert text.endswith(str(tmp_path / "igq.toml") + ": lease_millis: unknown setting; did you mean lease_ms?")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("IGQ_REDIS_ULR", "IGQ_REDIS_URL"),
        ("IGQ_REDISURL", "IGQ_REDIS_URL"),
        ("IGQ_GRUOP", "IGQ_GROUP"),
        ("IGQ_DATADIR", "IGQ_DATA_DIR"),
        ("IGQ_CONFGI", "IGQ_CONFIG"),
        ("IGQ_REDIS", "IGQ_REDIS_URL"),
        ("IGQ_URL", "IGQ_REDIS_URL"),
        ("IGQ_LEASE", "IGQ_LEASE_MS"),
    ],
)
def test_an_unknown_igq_variable_is_refused_with_the_nearest_name(tmp_path: Path, name: str, meant: str) -> None:
    assert error_of({"HOME": str(tmp_path), name: "x"}) == f"{name}: unknown setting; did you mean {meant}?"


@pytest.mark.parametrize(
    "name",
    [
        *("IGQ", "MY_IGQ_GRUOP"),
        # A container beside services igq, igq-redis and igq-group sets these.
        *("IGQ_PORT", "IGQ_REDIS_PORT", "IGQ_REDIS_SERVICE_HOST", "IGQ_REDIS_SERVICE_PORT_RESP"),
        *("IGQ_REDIS_PORT_6379_TCP_ADDR", "IGQ_GROUP_SERVICE_PORT"),
    ],
)
def test_other_variables_and_service_variables_are_ignored(tmp_path: Path, name: str) -> None:
    assert load_settings({"HOME": str(tmp_path), name: "x"}) == load_settings({"HOME": str(tmp_path)})


def test_a_variable_that_is_like_none_is_refused_with_those_there_are(tmp_path: Path) -> None:
    text = error_of({"HOME": str(tmp_path), "IGQ_X": "x"})

    assert text.startswith("IGQ_X: unknown setting; ")
    assert "IGQ_REDIS_URL" in text


def test_a_redis_url_under_another_products_name_is_mentioned_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sharedq.settings.loader._MENTIONED", [])
    there = {"HOME": str(tmp_path), "REDIS_URL": "redis://:S3CRET@h"}

    load_settings(there | {"IGQ_REDIS_URL": "redis://h"})
    assert not caplog.messages
    load_settings(there)
    load_settings(there)

    (said,) = caplog.messages
    assert "IGQ_REDIS_URL" in said
    assert "S3CRET" not in said


@pytest.mark.parametrize(
    "text", ["[igq]\ngroup = 'QSG1'\n", "group.name = 'QSG1'\n", "x = " + "[" * 50_000, "[x]\n[x.y]\nz = 1\n"]
)
def test_tables_and_deep_nesting_in_a_file_are_refused_with_a_hint(tmp_path: Path, text: str) -> None:
    assert "allowed: lines of NAME = VALUE" in error_of(toml(tmp_path, text))


def test_every_variable_that_is_read_anywhere_is_known() -> None:
    root = Path(__file__).parents[3]
    sources = [path for name in ("sharedq", "recovery", "igq") for path in (root / name).rglob("*")]
    text = "".join(path.read_text(encoding="utf-8") for path in sources if path.suffix in (".py", ".toml"))
    named = set(re.findall(r"""["'](IGQ_[A-Z_]+)["']""", text)) - {"IGQ_"}

    assert {"IGQ_CONFIG", "IGQ_DATA_DIR", "IGQ_REDIS_SERVER"} <= named
    assert named <= {*ENVIRONMENT, *OTHER_VARIABLES}


@pytest.mark.parametrize("word", ["retry", "interval", "short", "long", "batch"])
def test_no_setting_touches_the_agents_retry(word: str) -> None:
    """IBM fixes the four numbers of the IGQ agent's retry, and its batch."""
    assert not [name for name in Settings.model_fields if re.search(word, name)]


def test_file_that_is_not_toml_is_reported_with_its_line(tmp_path: Path) -> None:
    text = error_of(toml(tmp_path, 'group = "QSG1"\nlease_ms 2000\n'))

    assert str(tmp_path / "igq.toml") in text
    assert "line 2" in text


def test_file_that_cannot_be_read_is_reported_with_the_reason(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"a = 1\n\xff\x00")

    assert error_of({"IGQ_CONFIG": str(missing)}).startswith(f"IGQ_CONFIG={missing}: cannot be read: No such file")
    assert "line 2 is not UTF-8 text" in error_of({"IGQ_CONFIG": str(binary)})


def test_data_dir_below_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    text = error_of({"IGQ_DATA_DIR": str(file / "data")})

    assert text.startswith(f"IGQ_DATA_DIR={file / 'data'}: {file} is not a directory")


def test_with_a_redis_of_its_own_no_data_directory_is_asked_for(tmp_path: Path) -> None:
    """A program in a container whose file system cannot be written."""
    file = tmp_path / "file"
    file.touch()
    settings = load_settings({"IGQ_DATA_DIR": str(file / "data"), "IGQ_REDIS_URL": "redis://there"})
    assert settings.data_dir == file / "data"
    with pytest.raises(ConfigError, match="IGQ_DATA_DIR="):
        prepare_data_dir(settings)


def test_a_user_whom_the_system_does_not_know_has_settings_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", unknown)
    settings = load_settings({"IGQ_REDIS_URL": "redis://there"})
    assert settings.data_dir == Path("/.local/share/igq")
    assert load_settings({"IGQ_DATA_DIR": str(tmp_path)}).data_dir == tmp_path


def test_loading_makes_no_directory_and_preparing_makes_a_private_one(tmp_path: Path) -> None:
    settings = load_settings({"IGQ_DATA_DIR": str(tmp_path / "a/b")})
    assert not (tmp_path / "a").exists()

    path = prepare_data_dir(settings)

    assert path.stat().st_mode & 0o777 == 0o700
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not list(path.iterdir())


@pytest.mark.parametrize("place", ["value", "folder", "home"])
def test_a_data_dir_that_is_no_text_is_refused_with_the_name_of_the_setting(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / os.fsdecode(b"odd\xff")
    odd.mkdir()
    monkeypatch.chdir(odd if place == "folder" else tmp_path)
    env = {"value": {"IGQ_DATA_DIR": str(odd)}, "folder": {"IGQ_DATA_DIR": "here"}, "home": {"HOME": str(odd)}}[place]

    with pytest.raises(ConfigError, match=r"^IGQ_DATA_DIR='.*odd\\udcff.*': the name is not text in utf-8; allowed: "):
        load_settings(env)
    # A program that writes nothing there may have it.
    settings = load_settings(env | {"IGQ_REDIS_URL": "redis://there"})
    with pytest.raises(ConfigError, match=r"^--data-dir='.*odd\\udcff"):
        prepare_data_dir(settings, "--data-dir")


@pytest.mark.parametrize("name", [name for name in _PATHS if name not in ("data_dir", "redis_url_file")])
@pytest.mark.parametrize("place", ["environment", "folder"])
def test_every_other_path_that_is_no_text_is_named_too(
    name: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / os.fsdecode(b"odd\xff")
    odd.mkdir()
    monkeypatch.chdir(odd if place == "folder" else tmp_path)
    value = "here" if place == "folder" else str(odd)

    with pytest.raises(ConfigError, match=rf"^IGQ_{name.upper()}='.*udcff.*': the name is not text"):
        load_settings({f"IGQ_{name.upper()}": value, "IGQ_DATA_DIR": str(tmp_path)})


def test_data_dir_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    settings = load_settings({"IGQ_DATA_DIR": str(tmp_path / "data")})
    settings.data_dir.touch()

    with pytest.raises(ConfigError, match=r"IGQ_DATA_DIR=.*: it is not a directory; allowed: "):
        prepare_data_dir(settings)


def test_sample_file_says_the_defaults(tmp_path: Path) -> None:
    sample = Path(__file__).parents[3] / "config/sample.toml"

    settings = load_settings({"IGQ_CONFIG": str(sample), "HOME": str(tmp_path)})

    assert settings == load_settings({"HOME": str(tmp_path)})
    for name in Settings.model_fields:
        assert re.search(rf"^(# )?{name} = ", sample.read_text(encoding="utf-8"), re.MULTILINE), name
