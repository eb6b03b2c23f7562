"""The settings: names, units, ranges and defaults, in one frozen model.

The waits of an IGQ agent in retry are not among them: IBM fixes those, and so does this project.
"""

# Without the annotations of __future__: pydantic evaluates such texts one by one, a third of the time of an import.

from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sharedq.settings.directories import check_name
from sharedq.settings.identity_provider import ROLES_DESCRIPTION, check_issuer, check_roles, check_scopes
from sharedq.settings.redis_url import check_redis_url, mask_password

#: Names of the fields, as of five and of six.
_FIELDS = ("second", "minute", "hour", "day", "month", "day_of_week")
DESCRIPTION = "the five fields of a line of cron, or six with seconds first; blank for none"


def check_schedule(text: str) -> str:
    """Return *text* if it is blank or a schedule. Raises ValueError: it is neither."""
    if text.strip():
        trigger_of(text)
    return text.strip()


def trigger_of(text: str) -> Any:
    """Return the trigger of apscheduler for a schedule, in UTC. Raises ValueError: it is no schedule."""
    # Imported here: most commands have no schedule.
    from apscheduler.triggers.cron import CronTrigger

    fields = text.split()
    if len(fields) == len(_FIELDS):
        return CronTrigger(**dict(zip(_FIELDS, fields, strict=True)), timezone="UTC")
    return CronTrigger.from_crontab(text, timezone="UTC")


class ConfigError(Exception):
    """A setting cannot be used. The message is one line: the setting, its value, what is allowed."""


def _is_url(url: str) -> str:
    check_redis_url(url)
    return url


def _has_a_name(path: Path) -> Path:
    check_name(path)
    return path


def _are_networks(text: str) -> str:
    for each in text.split():
        ip_network(each)
    return text


NamedPath = Annotated[Path, AfterValidator(_has_a_name)]


class Settings(BaseModel):
    """The settings of one command. Made by `sharedq.settings.loader.load_settings`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Name of the queue-sharing group.
    group: Annotated[
        str,
        Field(pattern=r"^[A-Z$#@][A-Z0-9$#@]{0,3}$"),
        Field(description="1 to 4 of A-Z 0-9 $ # @, the first no digit"),
    ] = "QSG1"
    #: Where Redis is; if unset, an embedded server in `data_dir`. It may hold a password,
    #: so what is shown is `redis_url_masked`.
    redis_url: Annotated[str, AfterValidator(_is_url)] | None = Field(default=None, repr=False)
    #: A file that holds the Redis URL, as secrets are mounted; instead of `redis_url`. Absolute.
    redis_url_file: Annotated[NamedPath | None, Field(description="a path, and no `redis_url` beside it")] = None
    #: Logs, reports and the embedded server's data. Absolute.
    data_dir: Annotated[Path, Field(description="a path")]
    #: Backups of structures; if unset, `backups` in `data_dir`. Absolute.
    backup_dir: Annotated[NamedPath | None, Field(description="a path")] = None
    #: When structures and definitions are backed up (UTC), each time by one manager of those with this setting.
    backup_schedule: Annotated[str, AfterValidator(check_schedule), Field(description=DESCRIPTION)] = ""
    #: Scheduled backups of a structure that are kept, besides the latest.
    backup_retention: Annotated[int, Field(ge=1, le=1_000, description="1 to 1000 backups")] = 7
    #: Whether the managers of this machine keep a log of each RECOVER(YES) structure in `backup_dir`.
    recovery_log: Annotated[bool, Field(description="true or false")] = False
    #: How long a manager or program that has stopped answering keeps its name and its work.
    lease_ms: Annotated[int, Field(ge=500, le=600_000, description="500 to 600000 milliseconds")] = 5_000
    #: Whether managers watch each other, so that a death is noticed at once on one machine, and soon on another.
    suspicion: Annotated[bool, Field(description="true or false")] = True
    #: TCP port at which a manager takes links from the managers of other machines; 0 for any that is free.
    peer_port: Annotated[int, Field(ge=0, le=65_535, description="0 to 65535")] = 0
    #: Whether a manager that starts on a Redis that can lose acknowledged messages logs a line, or refuses to start.
    durability: Annotated[Literal["report", "strict"], Field(description="report or strict")] = "report"
    #: Replicas that must have a change before it is acknowledged (WAIT); 0 for none.
    wait_replicas: Annotated[int, Field(ge=0, le=100, description="0 to 100 replicas")] = 0
    #: How long to wait for these replicas.
    wait_replicas_timeout_ms: Annotated[int, Field(ge=1, le=60_000, description="1 to 60000 milliseconds")] = 1_000
    #: Whether message events are recorded for the pipeline.
    journal: Annotated[bool, Field(description="true or false")] = True
    #: Message events kept in a structure before the oldest are dropped.
    journal_max_entries: Annotated[int, Field(ge=1_000, le=1_000_000_000, description="1000 to 1000000000 entries")] = (
        1_000_000
    )
    #: Bytes of memory that a structure's journal may take before the oldest events are dropped; 0 for no limit.
    journal_max_bytes: Annotated[int, Field(ge=0, le=1 << 44, description="0, or bytes up to 16 TiB")] = 256 << 20
    #: How a manager and its agent write their log: lines for people, or a JSON object a line.
    log_format: Annotated[Literal["text", "json"], Field(description="text or json")] = "text"
    #: The least level that is logged. Messages with an id that ends in E are errors, in W warnings, the others
    #: information.
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Field(description="debug, info, warning or error")
    ] = "info"
    #: Whether MQSC commands and attributes that IBM MQ has and igq does not are passed over with a warning.
    mqsc_lenient: Annotated[bool, Field(description="true or false")] = False
    #: Structure that is defined with the group and has its SYSTEM queues; DEFINE with QSGDISP(SHARED) names one itself.
    default_structure: Annotated[
        str,
        Field(pattern=r"^[A-Z][A-Z0-9]{0,11}$"),
        Field(description="1 to 12 of A-Z 0-9, the first a letter"),
    ] = "APPL1"
    #: Whether a manager takes programs in other processes at `channels/QMGR.sock` in `data_dir`.
    channels: Annotated[bool, Field(description="true or false")] = True
    #: Processes that serve the programs of each listener, and of that socket. Each uses one processor.
    channel_processes: Annotated[int, Field(ge=1, le=64, description="1 to 64")] = 1
    #: TCP port at which a manager serves metrics to Prometheus; 0 for none.
    metrics_port: Annotated[int, Field(ge=0, le=65_535, description="0 to 65535")] = 0
    #: Address that the metrics are served at.
    metrics_listen: Annotated[
        str, Field(pattern=r"^[0-9A-Za-z:.\-]{1,253}$", description="a host name or an IP address")
    ] = "127.0.0.1"
    #: Queues whose metrics are served: names, or generic ones as in SET AUTHREC, with blanks between; blank for all.
    metrics_queues: Annotated[
        str, Field(pattern=r"^[0-9A-Za-z./_%*?, ]*$", max_length=4_096, description="names or generic names of queues")
    ] = ""
    #: A file that holds a token: whoever asks for metrics must send it (Authorization: Bearer). Absolute.
    metrics_token_file: Annotated[NamedPath | None, Field(description="a path")] = None
    #: Certificate of the metrics, a PEM file with its chain; without it they are served by plain HTTP.
    metrics_certificate: Annotated[NamedPath | None, Field(description="a path")] = None
    #: Private key of that certificate, a PEM file.
    metrics_key: Annotated[NamedPath | None, Field(description="a path")] = None
    #: Whether programs and agents make spans of OpenTelemetry.
    tracing: Annotated[bool, Field(description="true or false")] = False
    #: TCP port of the console and REST interface of a manager; 0 for none.
    console_port: Annotated[int, Field(ge=0, le=65_535, description="0 to 65535")] = 0
    #: Address that the console listens on.
    console_listen: Annotated[
        str, Field(pattern=r"^[0-9A-Za-z:.\-]{1,253}$", description="a host name or an IP address")
    ] = "127.0.0.1"
    #: Certificate of the console, a PEM file with its chain; without it the console speaks plain HTTP.
    console_certificate: Annotated[NamedPath | None, Field(description="a path")] = None
    #: Private key of that certificate, a PEM file.
    console_key: Annotated[NamedPath | None, Field(description="a path")] = None
    #: Proxies in front of the console: it believes their X-Forwarded-For and X-Forwarded-Proto, and nobody else's.
    console_trusted_proxies: Annotated[
        str, AfterValidator(_are_networks), Field(description="IP addresses or networks, with blanks between")
    ] = ""
    #: Users of the console; if unset, `console-users.json` in `data_dir`.
    console_users: Annotated[NamedPath | None, Field(description="a path")] = None
    #: The identity provider (OpenID Connect) by which users sign in to the console; blank for none.
    console_oidc_issuer: Annotated[str, AfterValidator(check_issuer), Field(description="an https:// URL")] = ""
    #: The name of that provider on the console's button; if blank, the host of the issuer.
    console_oidc_name: Annotated[
        str, Field(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=40, description="up to 40 characters")
    ] = ""
    #: The console's client id at that provider.
    console_oidc_client_id: Annotated[
        str, Field(pattern=r"^[\x21-\x7e]*$", max_length=200, description="up to 200 characters of ASCII, no blank")
    ] = ""
    #: A file that holds the secret of that client; without it the client is a public one, which shows only PKCE.
    console_oidc_client_secret_file: Annotated[NamedPath | None, Field(description="a path")] = None
    #: Scopes that the console asks for.
    console_oidc_scopes: Annotated[
        str, AfterValidator(check_scopes), Field(max_length=1_000, description="scopes with blanks between")
    ] = "openid profile"
    #: The claim of the ID token that holds the user's name.
    console_oidc_user_claim: Annotated[str, Field(min_length=1, max_length=200, description="the name of a claim")] = (
        "preferred_username"
    )
    #: The claim of the ID token that holds the user's groups, a list.
    console_oidc_groups_claim: Annotated[
        str, Field(min_length=1, max_length=200, description="the name of a claim")
    ] = "groups"
    #: The role of each group; of several roles a user has the highest.
    console_oidc_roles: Annotated[
        str, AfterValidator(check_roles), Field(max_length=8_192, description=ROLES_DESCRIPTION)
    ] = ""

    @property
    def users_file(self) -> Path:
        """Where the users of the console are."""
        return self.console_users or self.data_dir / "console-users.json"

    @property
    def backups(self) -> Path:
        """Where backups of structures are."""
        return self.backup_dir or self.data_dir / "backups"

    @property
    def longest_replication_s(self) -> float:
        """For how long a call may wait for replicas, seconds."""
        return self.wait_replicas_timeout_ms / 1000 if self.wait_replicas else 0.0

    @property
    def is_embedded(self) -> bool:
        """Whether Redis is the embedded server, because no URL is set."""
        return self.redis_url is None

    @property
    def redis_url_masked(self) -> str:
        """The URL for logs and reports, its password hidden; ``embedded`` where there is none."""
        return "embedded" if self.redis_url is None else mask_password(self.redis_url)
