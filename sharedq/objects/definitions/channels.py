"""Attributes of the queue manager about channels, TLS, clusters, hierarchies and a log. Pure.

CHLEV is obeyed. The others are kept and shown, with IBM's defaults, so that the definitions of a real queue manager
load. Those about accounting, statistics and media images of a log are of other platforms than z/OS.

Source: IBM MQ reference, "ALTER QMGR", "MQINQ" (selectors of queue managers).
"""

# Without the annotations of __future__: pydantic evaluates such texts one by one, a third of the time of an import.

from typing import Annotated, Final, Literal

from pydantic import Field

from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.objects.definitions import words
from sharedq.objects.definitions.attributes import Mqsc
from sharedq.objects.definitions.base import ObjectDefinition
from sharedq.objects.definitions.queues import (
    NO_ACCOUNTING,
    NO_CUSTOM,
    NO_IMAGES,
    NO_STATISTICS,
    Custom,
    Event,
    Large,
    OptionalName,
    YesNo,
)

_CHANNELS: Final = "channels do not obey it"
_CLUSTERS: Final = "there are no clusters"
_HIERARCHY: Final = "publications and subscriptions stay in the group"
_TOPICS: Final = "publications and subscriptions are the group's: this is not asked for"
_TLS: Final = "TLS is between programs and Redis: see its URL"
_REPORTS: Final = "no such messages are written"
_USERS: Final = "Redis says who may connect"
_LISTENERS: Final = "listeners do not obey it"

_Few = Annotated[int, Field(ge=1, le=9_999)]
_Number = Annotated[int, Field(ge=0, le=9_999)]
_Port = Annotated[int, Field(ge=0, le=65_535)]
_Seconds = Annotated[int, Field(ge=0, le=999_999)]
_Interval = Annotated[int, Field(ge=1, le=604_800)]
_OnOff = Literal["OFF", "ON"]
_Level = Literal["NONE", "OFF", "LOW", "MEDIUM", "HIGH"]
_Sender = Literal["QMGR", "NONE", "OFF", "LOW", "MEDIUM", "HIGH"]
_Recording = Literal["DISABLED", "MSG", "QUEUE"]
_Start = Literal["QMGR", "MANUAL"]


def _text(length: int) -> object:
    return Field(max_length=length)


class ChannelAttributes(ObjectDefinition):
    """A part of the attributes of a queue manager."""

    accounting_override: Annotated[
        Event, Mqsc("ACCTCONO", Int.ACCOUNTING_CONN_OVERRIDE, words.EVENT, instead=NO_ACCOUNTING)
    ] = "DISABLED"
    accounting_interval_s: Annotated[_Interval, Mqsc("ACCTINT", Int.ACCOUNTING_INTERVAL, instead=NO_ACCOUNTING)] = 1_800
    accounting_mqi: Annotated[_OnOff, Mqsc("ACCTMQI", Int.ACCOUNTING_MQI, words.STATISTICS, instead=NO_ACCOUNTING)] = (
        "OFF"
    )
    active_channels: Annotated[_Few, Mqsc("ACTCHL", Int.ACTIVE_CHANNELS, instead=_CHANNELS)] = 200
    activity_recording: Annotated[
        _Recording, Mqsc("ACTIVREC", Int.ACTIVITY_RECORDING, words.RECORDING, instead=_REPORTS)
    ] = "MSG"
    activity_override: Annotated[Event, Mqsc("ACTVCONO", Int.ACTIVITY_CONN_OVERRIDE, words.EVENT, instead=_REPORTS)] = (
        "DISABLED"
    )
    activity_trace: Annotated[_OnOff, Mqsc("ACTVTRC", Int.ACTIVITY_TRACE, words.STATISTICS, instead=_REPORTS)] = "OFF"
    adopt_check: Annotated[
        Literal["ALL", "NETADDR", "NONE", "QMNAME"],
        Mqsc("ADOPTCHK", Int.ADOPTNEWMCA_CHECK, words.ADOPT_CHECK, instead=_CHANNELS),
    ] = "ALL"
    adopt_type: Annotated[
        Literal["ALL", "NO"], Mqsc("ADOPTMCA", Int.ADOPTNEWMCA_TYPE, words.ADOPT_TYPE, instead=_CHANNELS)
    ] = "ALL"
    bridge_event: Annotated[
        Event, Mqsc("BRIDGEEV", Int.BRIDGE_EVENT, words.EVENT, instead="there is no IMS bridge")
    ] = "DISABLED"
    certificate_label: Annotated[str, _text(64), Mqsc("CERTLABL", Char.CERT_LABEL, length=64, instead=_TLS)] = ""
    group_certificate_label: Annotated[
        str, _text(64), Mqsc("CERTQSGL", Char.QSG_CERT_LABEL, length=64, instead=_TLS)
    ] = ""
    certificate_policy: Annotated[
        Literal["ANY", "RFC5280"],
        Mqsc("CERTVPOL", Int.CERT_VAL_POLICY, words.CERTIFICATE_POLICY, instead=_TLS),
    ] = "ANY"
    channel_auto_def: Annotated[Event, Mqsc("CHAD", Int.CHANNEL_AUTO_DEF, words.EVENT, instead=_CHANNELS)] = "DISABLED"
    channel_auto_def_event: Annotated[
        Event, Mqsc("CHADEV", Int.CHANNEL_AUTO_DEF_EVENT, words.EVENT, instead=_CHANNELS)
    ] = "DISABLED"
    channel_auto_def_exit: Annotated[
        str, _text(128), Mqsc("CHADEXIT", Char.CHANNEL_AUTO_DEF_EXIT, length=128, instead=_CHANNELS)
    ] = ""
    channel_adapters: Annotated[_Few, Mqsc("CHIADAPS", Int.CHINIT_ADAPTERS, instead=_CHANNELS)] = 8
    channel_dispatchers: Annotated[_Few, Mqsc("CHIDISPS", Int.CHINIT_DISPATCHERS, instead=_CHANNELS)] = 5
    channel_service: Annotated[
        str, _text(32), Mqsc("CHISERVP", Char.CHINIT_SERVICE_PARM, length=32, instead=_CHANNELS)
    ] = ""
    channel_authority: Annotated[Event, Mqsc("CHLAUTH", Int.CHLAUTH_RECORDS, words.EVENT, instead=_CHANNELS)] = (
        "DISABLED"
    )
    channel_event: Annotated[
        Literal["DISABLED", "ENABLED", "EXCEPTION"],
        Mqsc("CHLEV", Int.CHANNEL_EVENT, words.CHANNEL_EVENT),
    ] = "DISABLED"
    workload_data: Annotated[
        str, _text(32), Mqsc("CLWLDATA", Char.CLUSTER_WORKLOAD_DATA, length=32, instead=_CLUSTERS)
    ] = ""
    workload_exit: Annotated[
        str, _text(128), Mqsc("CLWLEXIT", Char.CLUSTER_WORKLOAD_EXIT, length=128, instead=_CLUSTERS)
    ] = ""
    workload_length: Annotated[Large, Mqsc("CLWLLEN", Int.CLUSTER_WORKLOAD_LENGTH, instead=_CLUSTERS)] = 100
    recent_channels: Annotated[
        int,
        Field(ge=1, le=999_999_999),
        Mqsc("CLWLMRUC", Int.CLWL_MRU_CHANNELS, instead=_CLUSTERS),
    ] = 999_999_999
    cluster_use: Annotated[
        Literal["LOCAL", "ANY"], Mqsc("CLWLUSEQ", Int.CLWL_USEQ, words.CLUSTER_USE, instead=_CLUSTERS)
    ] = "LOCAL"
    connection_authentication: Annotated[OptionalName, Mqsc("CONNAUTH", Char.CONN_AUTH, length=48, instead=_USERS)] = ""
    custom: Annotated[Custom, Mqsc("CUSTOM", Char.CUSTOM, length=128, instead=NO_CUSTOM)] = ""
    cluster_transmit_queue_type: Annotated[
        Literal["SCTQ", "CHANNEL"],
        Mqsc("DEFCLXQ", Int.DEF_CLUSTER_XMIT_Q_TYPE, words.CLUSTER_TRANSMIT_QUEUE, instead=_CLUSTERS),
    ] = "SCTQ"
    dns_group: Annotated[str, _text(18), Mqsc("DNSGROUP", Char.DNS_GROUP, length=18, instead=_LISTENERS)] = ""
    dns_workload: Annotated[YesNo, Mqsc("DNSWLM", Int.DNS_WLM, words.YES, instead=_LISTENERS)] = "NO"
    image_interval_min: Annotated[Large, Mqsc("IMGINTVL", Int.MEDIA_IMAGE_INTERVAL, words.OFF, instead=NO_IMAGES)] = 60
    image_log_length_mb: Annotated[
        Large, Mqsc("IMGLOGLN", Int.MEDIA_IMAGE_LOG_LENGTH, words.OFF, instead=NO_IMAGES)
    ] = 0
    image_objects: Annotated[YesNo, Mqsc("IMGRCOVO", Int.MEDIA_IMAGE_RECOVER_OBJ, words.YES, instead=NO_IMAGES)] = "YES"
    image_queues: Annotated[YesNo, Mqsc("IMGRCOVQ", Int.MEDIA_IMAGE_RECOVER_Q, words.YES, instead=NO_IMAGES)] = "YES"
    image_schedule: Annotated[
        Literal["MANUAL", "AUTO"],
        Mqsc("IMGSCHED", Int.MEDIA_IMAGE_SCHEDULING, words.IMAGE_SCHEDULE, instead=NO_IMAGES),
    ] = "MANUAL"
    address_version: Annotated[
        Literal["IPV4", "IPV6"], Mqsc("IPADDRV", Int.IP_ADDRESS_VERSION, words.ADDRESS_VERSION, instead=_CHANNELS)
    ] = "IPV4"
    logger_event: Annotated[
        Event, Mqsc("LOGGEREV", Int.LOGGER_EVENT, words.EVENT, instead="there is no log whose extents change")
    ] = "DISABLED"
    listener_timer_s: Annotated[int, Field(ge=5, le=9_999), Mqsc("LSTRTMR", Int.LISTENER_TIMER, instead=_LISTENERS)] = (
        60
    )
    lu_group: Annotated[str, _text(8), Mqsc("LUGROUP", Char.LU_GROUP_NAME, length=8, instead=_LISTENERS)] = ""
    lu_name: Annotated[str, _text(8), Mqsc("LUNAME", Char.LU_NAME, length=8, instead=_LISTENERS)] = ""
    lu62_suffix: Annotated[str, _text(2), Mqsc("LU62ARM", Char.LU62_ARM_SUFFIX, length=2, instead=_LISTENERS)] = ""
    lu62_channels: Annotated[_Number, Mqsc("LU62CHL", Int.LU62_CHANNELS, instead=_CHANNELS)] = 200
    max_channels: Annotated[_Few, Mqsc("MAXCHL", Int.MAX_CHANNELS, instead=_CHANNELS)] = 200
    cluster_sender_monitoring: Annotated[
        _Sender, Mqsc("MONACLS", Int.MONITORING_AUTO_CLUSSDR, words.MONITORING, instead=_CLUSTERS)
    ] = "QMGR"
    channel_monitoring: Annotated[
        _Level, Mqsc("MONCHL", Int.MONITORING_CHANNEL, words.MONITORING, instead=_CHANNELS)
    ] = "OFF"
    outbound_port_max: Annotated[_Port, Mqsc("OPORTMAX", Int.OUTBOUND_PORT_MAX, instead=_CHANNELS)] = 0
    outbound_port_min: Annotated[_Port, Mqsc("OPORTMIN", Int.OUTBOUND_PORT_MIN, instead=_CHANNELS)] = 0
    parent_manager: Annotated[OptionalName, Mqsc("PARENT", Char.PARENT, length=48, instead=_HIERARCHY)] = ""
    cluster_topics: Annotated[Event, Mqsc("PSCLUS", Int.PUBSUB_CLUSTER, words.EVENT, instead=_CLUSTERS)] = "ENABLED"
    publish_mode: Annotated[
        Literal["ENABLED", "COMPAT", "DISABLED"],
        Mqsc("PSMODE", Int.PUBSUB_MODE, words.PUBLISH_MODE, instead="publish/subscribe is always possible"),
    ] = "ENABLED"
    undelivered_input: Annotated[
        Literal["DISCARD", "KEEP"], Mqsc("PSNPMSG", Int.PUBSUB_NP_MSG, words.UNDELIVERED, instead=_TOPICS)
    ] = "DISCARD"
    undelivered_response: Annotated[
        Literal["NORMAL", "SAFE", "DISCARD", "KEEP"],
        Mqsc("PSNPRES", Int.PUBSUB_NP_RESP, words.UNDELIVERED, instead=_TOPICS),
    ] = "NORMAL"
    publish_retries: Annotated[Large, Mqsc("PSRTYCNT", Int.PUBSUB_MAXMSG_RETRY_COUNT, instead=_TOPICS)] = 5
    publish_syncpoint: Annotated[
        Literal["YES", "IFPER"], Mqsc("PSSYNCPT", Int.PUBSUB_SYNC_PT, words.PUBLISH_SYNCPOINT, instead=_TOPICS)
    ] = "IFPER"
    receive_timeout_s: Annotated[_Seconds, Mqsc("RCVTIME", Int.RECEIVE_TIMEOUT, instead=_CHANNELS)] = 0
    receive_timeout_min_s: Annotated[_Seconds, Mqsc("RCVTMIN", Int.RECEIVE_TIMEOUT_MIN, instead=_CHANNELS)] = 0
    receive_timeout_type: Annotated[
        Literal["MULTIPLY", "ADD", "EQUAL"],
        Mqsc("RCVTTYPE", Int.RECEIVE_TIMEOUT_TYPE, words.RECEIVE_TIMEOUT, instead=_CHANNELS),
    ] = "MULTIPLY"
    repository_cluster: Annotated[OptionalName, Mqsc("REPOS", Char.REPOSITORY_NAME, length=48, instead=_CLUSTERS)] = ""
    repository_clusters: Annotated[
        OptionalName, Mqsc("REPOSNL", Char.REPOSITORY_NAMELIST, length=48, instead=_CLUSTERS)
    ] = ""
    reverse_dns: Annotated[
        Literal["ENABLED", "DISABLED"],
        Mqsc("REVDNS", Int.REVERSE_DNS_LOOKUP, words.ALLOWED, instead=_CHANNELS),
    ] = "ENABLED"
    route_recording: Annotated[
        _Recording, Mqsc("ROUTEREC", Int.TRACE_ROUTE_RECORDING, words.RECORDING, instead=_REPORTS)
    ] = "MSG"
    initiator_start: Annotated[_Start, Mqsc("SCHINIT", Int.CHINIT_CONTROL, words.START, instead=_CHANNELS)] = "QMGR"
    command_server_start: Annotated[
        _Start,
        Mqsc(
            "SCMDSERV",
            Int.CMD_SERVER_CONTROL,
            words.START,
            instead="the command server starts with its manager; see STOP CMDSERV",
        ),
    ] = "QMGR"
    security_case: Annotated[
        Literal["UPPER", "MIXED"],
        Mqsc("SCYCASE", Int.SECURITY_CASE, words.SECURITY_CASE, instead="there are no security profiles"),
    ] = "UPPER"
    revocation_namelist: Annotated[OptionalName, Mqsc("SSLCRLNL", Char.SSL_CRL_NAMELIST, length=48, instead=_TLS)] = ""
    tls_hardware: Annotated[str, _text(256), Mqsc("SSLCRYP", Char.SSL_CRYPTO_HARDWARE, length=256, instead=_TLS)] = ""
    tls_event: Annotated[Event, Mqsc("SSLEV", Int.SSL_EVENT, words.EVENT, instead=_TLS)] = "DISABLED"
    tls_fips: Annotated[YesNo, Mqsc("SSLFIPS", Int.SSL_FIPS_REQUIRED, words.YES, instead=_TLS)] = "NO"
    tls_key_repository: Annotated[
        str, _text(256), Mqsc("SSLKEYR", Char.SSL_KEY_REPOSITORY, length=256, instead=_TLS)
    ] = ""
    tls_key_reset: Annotated[Large, Mqsc("SSLRKEYC", Int.SSL_RESET_COUNT, instead=_TLS)] = 0
    tls_tasks: Annotated[_Number, Mqsc("SSLTASKS", Int.SSL_TASKS, instead=_TLS)] = 0
    cluster_sender_statistics: Annotated[
        Literal["QMGR", "OFF", "LOW", "MEDIUM", "HIGH"],
        Mqsc("STATACLS", Int.STATISTICS_AUTO_CLUSSDR, words.MONITORING, instead=_CLUSTERS),
    ] = "QMGR"
    channel_statistics: Annotated[
        _Level, Mqsc("STATCHL", Int.STATISTICS_CHANNEL, words.MONITORING, instead=_CHANNELS)
    ] = "OFF"
    statistics_interval_s: Annotated[_Interval, Mqsc("STATINT", Int.STATISTICS_INTERVAL, instead=NO_STATISTICS)] = 1_800
    statistics_mqi: Annotated[_OnOff, Mqsc("STATMQI", Int.STATISTICS_MQI, words.STATISTICS, instead=NO_STATISTICS)] = (
        "OFF"
    )
    suite_b: Annotated[
        Literal["NONE", "128_BIT", "192_BIT", "128_BIT,192_BIT"],
        Mqsc("SUITEB", Int.SUITE_B_STRENGTH, words.SUITE_B, is_list=True, instead=_TLS),
    ] = "NONE"
    tcp_channels: Annotated[_Number, Mqsc("TCPCHL", Int.TCP_CHANNELS, instead=_CHANNELS)] = 200
    tcp_keep_alive: Annotated[YesNo, Mqsc("TCPKEEP", Int.TCP_KEEP_ALIVE, words.YES, instead=_CHANNELS)] = "NO"
    tcp_name: Annotated[str, _text(8), Mqsc("TCPNAME", Char.TCP_NAME, length=8, instead=_CHANNELS)] = "TCPIP"
    tcp_stack: Annotated[
        Literal["SINGLE", "MULTIPLE"], Mqsc("TCPSTACK", Int.TCP_STACK_TYPE, words.TCP_STACK, instead=_CHANNELS)
    ] = "SINGLE"
    initiator_trace: Annotated[YesNo, Mqsc("TRAXSTR", Int.CHINIT_TRACE_AUTO_START, words.YES, instead=_CHANNELS)] = (
        "YES"
    )
    initiator_trace_mb: Annotated[
        int,
        Field(ge=2, le=2_048),
        Mqsc("TRAXTBL", Int.CHINIT_TRACE_TABLE_SIZE, instead=_CHANNELS),
    ] = 2
    topic_life_s: Annotated[
        int,
        Field(ge=0, le=604_000),
        Mqsc("TREELIFE", Int.TREE_LIFE_TIME, instead="a topic string takes no room while nothing is there"),
    ] = 1_800
