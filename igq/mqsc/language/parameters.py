"""Figures that DISPLAY shows, and options of commands: the table beside those of attributes. Pure data.

Each is stated once, with its keyword in MQSC, its parameter in PCF and the numbers of its words, as a definition states
its attributes. MQSC, PCF and JSON read these statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Final

from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.constants.pcf import PCFParameter as Param
from sharedq.objects.definitions import words
from sharedq.objects.definitions.attributes import Attribute, Mqsc, attributes_of, by_keyword
from sharedq.objects.definitions.inert_attributes import MODELS
from sharedq.objects.definitions.queues import QUEUE_KINDS
from sharedq.objects.definitions.server_channels import Listener
from sharedq.objects.definitions.subscriptions import DURABLE, TYPES
from sharedq.objects.definitions.topics import ROOT_VALUES, TOPIC_NODE_FIELDS, TOPIC_TYPES, Topic

_QMGR, _NAME, _DATE, _TIME, _APPL, _USER = 48, 48, 12, 8, 28, 12


def _number(keyword: str, selector: Int | Param) -> Attribute:
    return Attribute("", Mqsc(keyword, selector), is_number=True)


def _text(keyword: str, selector: Char | Param, length: int = 0, *, is_list: bool = False) -> Attribute:
    return Attribute("", Mqsc(keyword, selector, length=length, is_list=is_list), is_number=False)


def _bytes(keyword: str, selector: Param, *, is_hex: bool = False) -> Attribute:
    return Attribute("", Mqsc(keyword, selector, is_hex=is_hex), is_number=False)


def _words(keyword: str, selector: Int | Param, known: Mapping[str, int], *, is_list: bool = False) -> Attribute:
    return Attribute("", Mqsc(keyword, selector, known, is_list=is_list), is_number=False)


def _flag(yes: str, selector: Param, no: str) -> Attribute:
    return Attribute("", Mqsc(yes, selector, {no: 0, yes: 1}, is_bare=True), is_number=False)


_QSGDISP = _words("QSGDISP", Int.QSG_DISP, words.DISPOSITION)
_QMNAME = _text("QMNAME", Char.Q_MGR_NAME, _QMGR)
_QTYPE = _words("TYPE", Int.Q_TYPE, words.QUEUE_TYPE)
_COUNTS = (
    _number("CURDEPTH", Int.CURRENT_Q_DEPTH),
    _number("IPPROCS", Int.OPEN_INPUT_COUNT),
    _number("OPPROCS", Int.OPEN_OUTPUT_COUNT),
)
_STATUS_TYPE = _words("TYPE", Param.Q_STATUS_TYPE, words.STATUS_TYPE)
_CONN = _bytes("CONN", Param.CONNECTION_ID)
_CONN_TYPE = _words("TYPE", Param.CONN_INFO_TYPE, words.CONNECTION_INFO)
_APPLDESC = _text("APPLDESC", Param.APPL_DESC, 64)
_ASTATE = _words("ASTATE", Param.ASYNC_STATE, words.ASYNC_STATE)
_HSTATE = _words("HSTATE", Param.HANDLE_STATE, words.HANDLE_STATE)
_OPENOPTS = _words("OPENOPTS", Param.OPEN_OPTIONS, words.OPEN_OPTIONS)
_QMURID = _bytes("QMURID", Param.Q_MGR_UOW)
_URTYPE = _words("URTYPE", Param.UOW_TYPE, words.UNIT_OF_WORK_TYPE)
_FAILURE = (_text("FAILDATE", Param.FAIL_DATE, _DATE), _text("FAILTIME", Param.FAIL_TIME, _TIME))
_ACTCONN = _bytes("ACTCONN", Param.CONNECTION_ID)

_SUB_STATUS: Final = (
    _bytes("SUBID", Param.SUB_ID, is_hex=True),
    _ACTCONN,
    _words("DURABLE", Param.DURABLE_SUBSCRIPTION, DURABLE),
    _words("SUBTYPE", Param.SUB_TYPE, TYPES),
    _text("SUBUSER", Param.SUB_USER_ID, _USER),
    _text("TOPICSTR", Char.TOPIC_STRING),
    _number("NUMMSGS", Param.MESSAGE_COUNT),
    _text("LMSGDATE", Param.LAST_MSG_DATE, _DATE),
    _text("LMSGTIME", Param.LAST_MSG_TIME, _TIME),
)

#: Object -> kind of report -> the figures that DISPLAY shows of it, in their order. The first ones are always shown.
REPORTS: Final[Mapping[str, Mapping[str, tuple[Attribute, ...]]]] = {
    "QUEUE": {
        "": (
            _text("QUEUE", Char.Q_NAME, _NAME),
            _QTYPE,
            *_COUNTS,
            _number("PSID", Int.PAGESET_ID),
            _text("TPIPE", Char.TPIPE_NAME, 8, is_list=True),
        )
    },
    "QSTATUS": {
        "QUEUE": (
            _text("QUEUE", Char.Q_NAME, _NAME),
            _STATUS_TYPE,
            *_COUNTS,
            _words("UNCOM", Param.UNCOMMITTED_MSGS, words.YES),
            _words("MONQ", Int.MONITORING_Q, words.MONITORING),
            _QSGDISP,
            _number("MSGAGE", Param.OLDEST_MSG_AGE),
            Attribute("", Mqsc("QTIME", Param.Q_TIME_INDICATOR, is_list=True), is_number=True),
            _text("LPUTDATE", Param.LAST_PUT_DATE, _DATE),
            _text("LPUTTIME", Param.LAST_PUT_TIME, _TIME),
            _text("LGETDATE", Param.LAST_GET_DATE, _DATE),
            _text("LGETTIME", Param.LAST_GET_TIME, _TIME),
        ),
        "HANDLE": (
            _text("QUEUE", Char.Q_NAME, _NAME),
            _STATUS_TYPE,
            _APPLDESC,
            _text("APPLTAG", Param.APPL_TAG, _APPL),
            _words("APPLTYPE", Int.APPL_TYPE, words.APPL_TYPE),
            _ASTATE,
            _text("CHANNEL", Param.CHANNEL_NAME, 20),
            _text("CONNAME", Param.CONNECTION_NAME),
            _CONN,
            _HSTATE,
            _OPENOPTS,
            _QMURID,
            _bytes("URID", Param.EXTERNAL_UOW_ID, is_hex=True),
            _URTYPE,
            _text("USERID", Param.USER_IDENTIFIER, _USER),
            _words("INPUT", Param.OPEN_INPUT_TYPE, words.INPUT_TYPE),
            _words("BROWSE", Param.OPEN_BROWSE, words.YES),
            _words("INQUIRE", Param.OPEN_INQUIRE, words.YES),
            _words("OUTPUT", Param.OPEN_OUTPUT, words.YES),
            _words("SET", Param.OPEN_SET, words.YES),
            _number("PID", Param.PROCESS_ID),
            _QMNAME,
            _QSGDISP,
        ),
    },
    "QSTATS": {
        "": (
            _text("QSTATS", Char.Q_NAME, _NAME),
            _QSGDISP,
            _number("RESETINT", Int.TIME_SINCE_RESET),
            _number("HIQDEPTH", Int.HIGH_Q_DEPTH),
            _number("MSGSIN", Int.MSG_ENQ_COUNT),
            _number("MSGSOUT", Int.MSG_DEQ_COUNT),
        )
    },
    "CFSTATUS": {
        "SUMMARY": (
            _text("CFSTATUS", Char.CF_STRUC_NAME, 12),
            _words("TYPE", Param.CF_STATUS_TYPE, words.STRUCTURE_STATUS_TYPE),
            _words("CFTYPE", Param.CF_STRUC_TYPE, words.STRUCTURE_TYPE),
            _number("ENTSMAX", Param.CF_STRUC_ENTRIES_MAX),
            _number("ENTSUSED", Param.CF_STRUC_ENTRIES_USED),
            *_FAILURE,
            _number("OFFLDUSE", Int.CF_OFFLDUSE),
            _number("SIZEMAX", Param.CF_STRUC_SIZE_MAX),
            _number("SIZEUSED", Param.CF_STRUC_SIZE_USED),
            _words("STATUS", Param.CF_STRUC_STATUS, words.STRUCTURE_STATUS),
        ),
        "CONNECT": (
            _text("CFSTATUS", Char.CF_STRUC_NAME, 12),
            _words("TYPE", Param.CF_STATUS_TYPE, words.STRUCTURE_STATUS_TYPE),
            *_FAILURE,
            _QMNAME,
            _words("STATUS", Param.CF_STRUC_STATUS, words.STRUCTURE_STATUS),
            _text("SYSNAME", Param.SYSTEM_NAME),
        ),
        "BACKUP": (
            _text("CFSTATUS", Char.CF_STRUC_NAME, 12),
            _words("TYPE", Param.CF_STATUS_TYPE, words.STRUCTURE_STATUS_TYPE),
            _text("BKUPDATE", Param.BACKUP_DATE, _DATE),
            _text("BKUPERBA", Param.CF_STRUC_BACKUP_END, 12),
            _number("BKUPSIZE", Param.CF_STRUC_BACKUP_SIZE),
            _text("BKUPSRBA", Param.CF_STRUC_BACKUP_START, 12),
            _text("BKUPTIME", Param.BACKUP_TIME, _TIME),
            _number("ENTSUSED", Param.CF_STRUC_ENTRIES_USED),
            *_FAILURE,
            _text("LOGS", Param.CF_STRUC_LOG_Q_MGRS, _QMGR, is_list=True),
            _QMNAME,
            _words("STATUS", Param.CF_STRUC_STATUS, words.STRUCTURE_STATUS),
        ),
        "SMDS": (
            _text("CFSTATUS", Char.CF_STRUC_NAME, 12),
            _words("TYPE", Param.CF_STATUS_TYPE, words.STRUCTURE_STATUS_TYPE),
            _words("ACCESS", Param.CF_STRUC_ACCESS, words.DATA_SET_ACCESS),
            *_FAILURE,
            _text("RCVDATE", Param.RECOVERY_DATE, _DATE),
            _text("RCVTIME", Param.RECOVERY_TIME, _TIME),
            _text("SMDS", Param.CF_SMDS, 4),
            _words("STATUS", Param.CF_STRUC_STATUS, words.STRUCTURE_STATUS),
        ),
    },
    "SMDS": {
        "": (
            _text("SMDS", Param.CF_SMDS, 4),
            _text("CFSTRUCT", Char.CF_STRUC_NAME, 12),
            _number("DSBUFS", Int.CF_SMDS_BUFFERS),
            _words("DSEXPAND", Param.CF_SMDS_EXPAND, words.EXPANDS),
        )
    },
    "SMDSCONN": {
        "": (
            _text("SMDSCONN", Param.CF_SMDSCONN, 4),
            _text("CFSTRUCT", Char.CF_STRUC_NAME, 12),
            _words("AVAIL", Param.SMDS_AVAIL, words.DATA_SET_AVAILABLE),
            _words("EXPANDST", Param.SMDS_EXPANDST, words.DATA_SET_EXPANSION),
            _words("OPENMODE", Param.SMDS_OPENMODE, words.DATA_SET_MODE),
            _words("STATUS", Param.SMDS_STATUS, words.DATA_SET_STATUS),
        )
    },
    "GROUP": {
        "": (
            _QMNAME,
            _words("QMSTATUS", Param.Q_MGR_STATUS, words.MEMBER_STATUS),
            _text("HOST", Param.HOST_NAME),
            _number("PID", Param.PROCESS_ID),
            _text("QSGNAME", Char.QSG_NAME, 4),
            _words("IGQ", Int.INTRA_GROUP_QUEUING, words.EVENT),
            _number("QMNUM", Param.Q_MGR_NUMBER),
            _text("CPF", Param.Q_MGR_CPF, 8),
            _number("CMDLEVEL", Int.COMMAND_LEVEL),
            _text("DB2NAME", Param.DB2_NAME, 4),
            _words("DB2STAT", Param.DB2_CONN_STATUS, words.MEMBER_STATUS),
        )
    },
    "CONN": {
        "CONN": (
            _CONN,
            _CONN_TYPE,
            _APPLDESC,
            _text("APPLTAG", Param.APPL_TAG, _APPL),
            _words("APPLTYPE", Int.APPL_TYPE, words.APPL_TYPE),
            _ASTATE,
            _text("CHANNEL", Param.CHANNEL_NAME, 20),
            _text("CONNAME", Param.CONNECTION_NAME),
            _words("CONNOPTS", Param.CONNECT_OPTIONS, words.CONNECT_OPTIONS),
            _bytes("CONNTAG", Param.CONN_TAG, is_hex=True),
            Attribute("", Mqsc("EXTCONN", None), is_number=False),
            _number("PID", Param.PROCESS_ID),
            _QMNAME,
            _text("USERID", Param.USER_IDENTIFIER, _USER),
            _bytes("EXTURID", Param.EXTERNAL_UOW_ID, is_hex=True),
            _QMURID,
            _words("UOWSTATE", Param.UOW_STATE, words.UNIT_OF_WORK_STATE),
            _text("UOWSTDA", Param.UOW_START_DATE, _DATE),
            _text("UOWSTTI", Param.UOW_START_TIME, _TIME),
            _URTYPE,
            _words("URDISP", Int.UR_DISP, words.DISPOSITION),
        ),
        "HANDLE": (
            _CONN,
            _CONN_TYPE,
            _ASTATE,
            _HSTATE,
            Attribute("", Mqsc("EXTCONN", None), is_number=False),
            _text("OBJNAME", Param.OBJECT_NAME, _NAME),
            _words("OBJTYPE", Param.OBJECT_TYPE, words.OBJECT_TYPE),
            _OPENOPTS,
            _QMNAME,
            _QSGDISP,
        ),
    },
    "QMGR": {
        "": (
            _text("QMID", Char.Q_MGR_IDENTIFIER, _QMGR),
            _text("VERSION", Char.VERSION, 8),
            _words("ADVCAP", Int.ADVANCED_CAPABILITY, words.ENABLED),
            _number("CPILEVEL", Int.CPI_LEVEL),
        )
    },
    "NAMELIST": {"": (_number("NAMCOUNT", Int.NAME_COUNT),)},
    "CHSTATUS": {
        "": (
            _text("CHSTATUS", Param.CHANNEL_NAME, 20),
            _words("CHLTYPE", Param.CHANNEL_TYPE, {"SVRCONN": 7}),
            _text("CONNAME", Param.CONNECTION_NAME),
            _words("STATUS", Param.CHANNEL_STATUS, {"RUNNING": 3, "STOPPED": 6}),
            _words("SUBSTATE", Param.CHANNEL_SUBSTATE, {"": 0, "RECEIVE": 300, "MQGET": 1600}),
            _text("MCAUSER", Param.MCA_USER_ID, 64),
            _text("RAPPLTAG", Param.REMOTE_APPL_TAG, _APPL),
            _bytes("CONN", Param.CONNECTION_ID),
            _number("MSGS", Param.MSGS),
            _number("BYTSSENT", Param.BYTES_SENT),
            _number("BYTSRCVD", Param.BYTES_RECEIVED),
            _number("BUFSSENT", Param.BUFFERS_SENT),
            _number("BUFSRCVD", Param.BUFFERS_RECEIVED),
            _text("CHSTADA", Param.CHANNEL_START_DATE, _DATE),
            _text("CHSTATI", Param.CHANNEL_START_TIME, _TIME),
            _text("LSTMSGDA", Param.CHANNEL_LAST_MSG_DATE, _DATE),
            _text("LSTMSGTI", Param.CHANNEL_LAST_MSG_TIME, _TIME),
            _number("CURSHCNV", Param.CURRENT_SHARING_CONVS),
            _number("MAXSHCNV", Param.MAX_SHARING_CONVS),
            _QMNAME,
        )
    },
    "LSSTATUS": {
        "": (
            _text("LSSTATUS", Param.LISTENER_NAME, _NAME),
            _words("STATUS", Param.LISTENER_STATUS, {"STARTING": 1, "RUNNING": 2, "STOPPING": 3, "STOPPED": 0}),
            _number("PID", Param.PROCESS_ID),
            _text("STARTDA", Param.LISTENER_START_DATE, _DATE),
            _text("STARTTI", Param.LISTENER_START_TIME, _TIME),
            *(each for each in attributes_of(Listener) if each.keyword in ("DESCR", "CONTROL", "BACKLOG", "TRPTYPE")),
            _text("IPADDR", Param.IP_ADDRESS, 48),
            _number("PORT", Param.PORT),
            _QMNAME,
        )
    },
    "SUB": {"": (_words("SELTYPE", Param.SELECTOR_TYPE, words.SELECTOR_TYPE),)},
    "QMSTATUS": {
        "": (
            _QMNAME,
            _words("STATUS", Param.Q_MGR_STATUS, words.MANAGER_STATUS),
            _words("CHINIT", Param.CHINIT_STATUS, words.SERVICE_STATUS),
            _words("CMDSERV", Param.CMD_SERVER_STATUS, words.SERVICE_STATUS),
            _number("CONNS", Param.CONNECTION_COUNT),
            _text("HOSTNAME", Param.HOST_NAME),
            _text("QSGNAME", Char.QSG_NAME, 4),
        )
    },
    "TPSTATUS": {
        "TOPIC": (
            _text("TPSTATUS", Char.TOPIC_STRING),
            _text("ADMIN", Char.ADMIN_TOPIC_NAME, _NAME),
            _words("RETAINED", Param.RETAINED_PUBLICATION, words.YES),
            _number("PUBCOUNT", Int.PUB_COUNT),
            _number("SUBCOUNT", Int.SUB_COUNT),
            *(each for each in attributes_of(Topic) if each.field in {*ROOT_VALUES, *TOPIC_NODE_FIELDS}),
        ),
        "SUB": (_text("TPSTATUS", Char.TOPIC_STRING), *_SUB_STATUS),
        "PUB": (_text("TPSTATUS", Char.TOPIC_STRING), _ACTCONN),
    },
    "PUBSUB": {
        "": (
            _QMNAME,
            _words("TYPE", Param.PS_STATUS_TYPE, words.HIERARCHY),
            _words("STATUS", Param.PUBSUB_STATUS, words.PUBLISH_STATUS),
            _number("SUBCOUNT", Int.SUB_COUNT),
            _number("TPCOUNT", Int.TOPIC_NODE_COUNT),
        )
    },
    "SBSTATUS": {"": (_text("SUB", Param.SUB_NAME), *_SUB_STATUS)},
    "AUTHREC": {
        "": (
            _text("PROFILE", Param.AUTH_PROFILE_NAME, _NAME),
            _text("ENTITY", Param.ENTITY_NAME, 64),
            _words("ENTTYPE", Param.ENTITY_TYPE, words.ENTITY_TYPE),
            _words("OBJTYPE", Param.OBJECT_TYPE, words.OBJECT_TYPE),
            _words("AUTHLIST", Param.AUTHORIZATION_LIST, words.AUTHORITY, is_list=True),
        )
    },
}
_EVENTS: Final = "AUTHOREV BRIDGEEV CHLEV CMDEV CONFIGEV INHIBTEV LOCALEV LOGGEREV PERFMEV REMOTEEV SSLEV STRSTPEV"
_INITIATOR: Final = (
    "ACTCHL ADOPTCHK ADOPTMCA CERTLABL CERTQSGL CERTVPOL CHAD CHADEV CHADEXIT CHIADAPS CHIDISPS CHISERVP CHLAUTH "
    "DNSGROUP DNSWLM IPADDRV LSTRTMR LUGROUP LUNAME LU62ARM LU62CHL MAXCHL OPORTMAX OPORTMIN RCVTIME RCVTMIN RCVTTYPE "
    "REVDNS SCHINIT SSLCRLNL SSLCRYP SSLFIPS SSLKEYR SSLRKEYC SSLTASKS SUITEB TCPCHL TCPKEEP TCPNAME TCPSTACK "
    "TRAXSTR TRAXTBL"
)
_CLUSTERS: Final = "CLWLDATA CLWLEXIT CLWLLEN CLWLMRUC CLWLUSEQ DEFCLXQ MONACLS QMID REPOS REPOSNL"
_TOPICS: Final = "PARENT PSCLUS PSMODE PSNPMSG PSNPRES PSRTYCNT PSSYNCPT TREELIFE"
_OTHER_AREAS: Final = frozenset(f"{_EVENTS} {_INITIATOR} {_CLUSTERS} {_TOPICS}".split())


@dataclass(frozen=True, slots=True)
class Area:
    """Attributes of a queue manager that one word asks for. Source: IBM MQ reference, "DISPLAY QMGR"."""

    number: Param
    keywords: frozenset[str]


#: The word that asks for an area, in DISPLAY QMGR.
AREAS: Final[Mapping[str, Area]] = {
    "SYSTEM": Area(
        Param.Q_MGR_SYSTEM, frozenset({*by_keyword(MODELS["QMGR"]), "VERSION", "ADVCAP", "CPILEVEL"}) - _OTHER_AREAS
    ),
    "EVENT": Area(Param.Q_MGR_EVENT, frozenset(_EVENTS.split())),
    "CHINIT": Area(Param.Q_MGR_DQM, frozenset(_INITIATOR.split())),
    "CLUSTER": Area(Param.Q_MGR_CLUSTER, frozenset(_CLUSTERS.split())),
    "PUBSUB": Area(Param.Q_MGR_PUBSUB, frozenset(_TOPICS.split())),
}
# DISPLAY THREAD shows connections, and units of work as DISPLAY CONN shows them.
_THREAD: Final = (
    Attribute("", Mqsc("THREAD", None), is_number=False),
    Attribute("", Mqsc("NID", None), is_number=False),
    *REPORTS["CONN"]["CONN"],
)

#: The options of commands. A command takes those that it knows.
OPTIONS: Final = (
    _text("CMDSCOPE", Param.COMMAND_SCOPE, _QMGR),
    _words("QSGDISP", Int.QSG_DISP, words.DISPOSITIONS_MEANT),
    _words("TYPE", Int.Q_TYPE, words.QUEUE_TYPES_MEANT),
    _words("TYPE", Param.Q_STATUS_TYPE, words.STATUS_TYPE),
    _words("TYPE", Param.CF_STATUS_TYPE, words.STRUCTURE_STATUS_TYPE),
    _words("TYPE", Param.CONN_INFO_TYPE, words.CONNECTION_INFO),
    _words("TYPE", Param.MOVE_TYPE, words.MOVE_TYPE),
    _words("TYPE", Param.REFRESH_TYPE, words.REFRESH_TYPE),
    _words("OPENTYPE", Param.OPEN_TYPE, words.OPEN_TYPE),
    _flag("REPLACE", Param.REPLACE, "NOREPLACE"),
    _flag("PURGE", Param.PURGE, "NOPURGE"),
    _flag("FORCE", Param.FORCE, ""),
    _words("MODE", Param.MODE, words.MODE),
    _words("STATUS", Param.CHANNEL_STATUS, {"STOPPED": 6, "INACTIVE": 0}),
    _text("LIKE", Param.FROM_Q_NAME, _NAME),
    _text("LIKE", Param.FROM_CF_STRUC_NAME, 12),
    _text("LIKE", Param.FROM_PROCESS_NAME, _NAME),
    _text("LIKE", Param.FROM_NAMELIST_NAME, _NAME),
    _text("LIKE", Param.FROM_CHANNEL_NAME, 20),
    _text("LIKE", Param.FROM_LISTENER_NAME, _NAME),
    _text("LIKE", Param.FROM_TOPIC_NAME, _NAME),
    _text("LIKE", Param.FROM_SUB_NAME),
    _words("TYPE", Int.TOPIC_TYPE, TOPIC_TYPES),
    _words("TYPE", Param.TOPIC_STATUS_TYPE, {"TOPIC": 1295, "SUB": 1296, "PUB": 1297}),
    _words("TYPE", Param.PS_STATUS_TYPE, words.HIERARCHY),
    _bytes("SUBID", Param.SUB_ID, is_hex=True),
    _words("SUBTYPE", Param.SUB_TYPE, {**TYPES, "ALL": -1, "USER": -2}),
    _words("DURABLE", Param.DURABLE_SUBSCRIPTION, {**DURABLE, "ALL": -1}),
    _words("CLRTYPE", Param.CLEAR_TYPE, {"RETAINED": 1}),
    _words("SCOPE", Param.CLEAR_SCOPE, {"LOCAL": 1}),
    _text("TOQLOCAL", Param.TO_Q_NAME, _NAME),
    _number("EXCLINT", Param.EXCLUDE_INTERVAL),
    _words("ACTION", Param.ACTION, words.IN_DOUBT_ACTION),
    _text("NID", Param.Q_MGR_UOW_ID, is_list=True),
    _text("QMNAME", Char.Q_MGR_NAME, _QMGR),
    _words("OBJECT", Param.OBJECT_TYPE, words.REFRESHED_OBJECTS),
    _text("NAME", Param.OBJECT_NAME, _NAME),
    _text("PROFILE", Param.AUTH_PROFILE_NAME, _NAME),
    _words("OBJTYPE", Param.OBJECT_TYPE, words.OBJECT_TYPE),
    _text("PRINCIPAL", Param.PRINCIPAL_ENTITY_NAMES, is_list=True),
    _text("PRINCIPAL", Param.ENTITY_NAME),
    _words("ENTTYPE", Param.ENTITY_TYPE, words.ENTITY_TYPE),
    _words("AUTHADD", Param.AUTH_ADD_AUTHS, words.AUTHORITY, is_list=True),
    _words("AUTHRMV", Param.AUTH_REMOVE_AUTHS, words.AUTHORITY, is_list=True),
    _words("OBSMSGS", Param.OBSOLETE_MSGS, words.YES),
)


def has_items(kind: str, keyword: str) -> bool:
    """Whether an attribute or figure of an object is a list, or several words."""
    known = shown_by(kind).get(keyword)
    return known is not None and (known.mqsc.is_list or known.mqsc.words is words.OPEN_OPTIONS)


def keywords(kind: str, report: str = "") -> tuple[str, ...]:
    """Return the keywords of a report, in the order in which it is shown."""
    return tuple(each.keyword for each in REPORTS[kind][report])


@lru_cache(maxsize=64)
def shown_by(kind: str) -> Mapping[str, Attribute]:
    """Map the keywords that DISPLAY shows of an object to what they are: its definition's attributes, and figures."""
    if kind == "THREAD":
        return {each.keyword: each for each in _THREAD}
    is_queue = kind == "QUEUE" or kind in QUEUE_KINDS
    models = QUEUE_KINDS.values() if is_queue else [MODELS[kind]] if kind in MODELS else []
    found = dict(chain.from_iterable(by_keyword(model).items() for model in models))
    for figures in REPORTS.get("QUEUE" if is_queue else kind, {}).values():
        found |= {each.keyword: each for each in figures}
    return MappingProxyType(found)
