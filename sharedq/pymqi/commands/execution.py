"""``PCFExecute``: PCF commands as methods, ``pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"*"})``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from sharedq.mqi.character_sets import Representation
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.mqi.pcf import structures as pcf
from sharedq.mqi.pcf.reading import read_from
from sharedq.pymqi import CMQC, CMQCFC
from sharedq.pymqi.boundary import ByteString, checked, checked_call, ensure_bytes, ensure_not_unicode, padded_count
from sharedq.pymqi.connection.queue import Queue
from sharedq.pymqi.connection.queue_manager import QueueManager
from sharedq.pymqi.errors import Error, MQMIError, PYIFError, WrongMemberError, WrongTypeError, names_by_number
from sharedq.pymqi.structures.descriptors import GMO, MD, OD, PMO
from sharedq.pymqi.structures.options import MQOpts
from sharedq.pymqi.structures.pcf import CFBS, CFGR, CFH, CFIF, CFIL, CFIN, CFSF, CFSL, CFST

#: The arguments of a command: attributes and their values, or the parameters themselves.
Arguments = Mapping[int, Any] | Sequence[MQOpts]
#: Attributes of an answer; a group is a list of them.
Answer = dict[int, Any]
#: Parameters that name the attributes to return: lists, also if one number is given.
_ATTRIBUTE_LISTS = frozenset(
    value for name, value in vars(CMQCFC).items() if name.startswith(("MQIACF_", "MQIACH_")) and name.endswith("_ATTRS")
)
#: Extended responses that are about the command, not about an object.
_WITHOUT_OBJECT = (CMQCFC.MQCFT_XR_MSG, CMQCFC.MQCFT_XR_SUMMARY)
_MS_PER_EXPIRY_UNIT = 100
_FAMILY = "MQCMD_"


@checked
class AttributeFilter:
    """A filter by one attribute.

    Args:
        selector: MQIA_* or MQCA_*, or one of PCF's own.
        operator: MQCFOP_*.
    """

    def __init__(self, selector: int, value: bytes | str | int, operator: int) -> None:
        self.selector = selector
        self.value = ensure_bytes(value)
        self.operator = operator

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.selector}:{self.value!r}:{self.operator}>"

    def structure(self) -> MQOpts:
        """The parameter of a command that it becomes."""
        raise NotImplementedError


class StringFilter(AttributeFilter):
    """A filter by a string."""

    def structure(self) -> MQOpts:
        """An MQCFSF."""
        return CFSF(Parameter=self.selector, Operator=self.operator, FilterValue=self.value)


class IntegerFilter(AttributeFilter):
    """A filter by an integer."""

    def structure(self) -> MQOpts:
        """An MQCFIF."""
        return CFIF(Parameter=self.selector, Operator=self.operator, FilterValue=self.value)


@checked
class FilterOperator:
    """A filter that still lacks its value: called with that, it returns the filter.

    Raises:
        Error: the selector is neither of an integer nor of a string, or there is no such operator.
    """

    operator_mapping: ClassVar[dict[str, int]] = {
        name.removeprefix("MQCFOP_").lower(): value
        for name, value in vars(CMQCFC).items()
        if name.startswith("MQCFOP_")
    }

    def __init__(self, selector: int, operator_name: str) -> None:
        self.filter_cls: type[AttributeFilter]
        if CMQC.MQIA_FIRST <= selector <= CMQC.MQIA_LAST:
            self.filter_cls = IntegerFilter
        elif CMQC.MQCA_FIRST <= selector <= CMQC.MQCA_LAST:
            self.filter_cls = StringFilter
        else:
            raise Error(f"selector {selector} is neither that of an integer nor that of a string")
        if operator_name not in self.operator_mapping:
            raise Error(f"there is no operator {operator_name}")
        self.selector, self.operator = selector, self.operator_mapping[operator_name]

    def __call__(self, value: bytes | int) -> AttributeFilter:
        ensure_not_unicode(value)
        return self.filter_cls(self.selector, value, self.operator)


@checked
class Filter:
    """The attribute to filter by; its methods are the operators: ``equal``, ``less``, ``like``, ``contains_gen`` ..."""

    def __init__(self, selector: int) -> None:
        self.selector = selector

    def __getattr__(self, name: str) -> FilterOperator:
        # Copying and pickling ask for such names before there is a selector.
        if name.startswith("__"):
            raise AttributeError(name)
        return FilterOperator(self.selector, name)


@checked
class PCFExecute(QueueManager):
    """Sends commands to a queue manager's command server, and waits for the answers.

    Every command of ``CMQCFC`` is a method: it takes the parameters (a dictionary of attributes, or a list of ``CF*``
    structures) and a list of filters, both optional, and returns one dictionary for each answer.

    Args:
        name: the ``QueueManager`` to use, or the name of one to connect to. None: connect later.
        model_queue_name, dynamic_queue_name: how the queue for the answers is made.
        response_wait_interval: how long to wait for each answer, in milliseconds. The command expires then.
        convert: have the answers converted (MQGMO_CONVERT).
    """

    #: The queue manager that was given; None: this object is the connection.
    qm: QueueManager | None = None

    iaStringDict = names_by_number(CMQC, "MQIA_")  # noqa: N815 - pymqi's name
    caStringDict = names_by_number(CMQC, "MQCA_")  # noqa: N815

    def __init__(
        self,
        name: QueueManager | str | bytes | None = None,
        disconnect_on_exit: bool = True,
        model_queue_name: bytes = b"SYSTEM.DEFAULT.MODEL.QUEUE",
        dynamic_queue_name: bytes = b"PYMQPCF.*",
        command_queue_name: bytes = b"SYSTEM.ADMIN.COMMAND.QUEUE",
        response_wait_interval: int = 5000,
        convert: bool = False,
    ) -> None:
        self.__command_queue_name = command_queue_name
        self.__convert = convert
        self.__response_wait_interval = response_wait_interval
        self.qm = name if isinstance(name, QueueManager) else None
        super().__init__(None if isinstance(name, QueueManager) else name, disconnect_on_exit)
        self.__od = OD(ObjectName=ensure_bytes(model_queue_name), DynamicQName=ensure_bytes(dynamic_queue_name))
        self.__reply_queue: Queue | None = Queue(self._manager)
        if name is not None:
            self.__open_reply_queue()

    @property
    def _manager(self) -> QueueManager:
        return self if self.qm is None else self.qm

    @property
    def command_queue_name(self) -> bytes:
        """The queue of the command server."""
        return self.__command_queue_name

    @property
    def convert(self) -> bool:
        """Whether answers are converted."""
        return self.__convert

    @property
    def reply_queue(self) -> Queue | None:
        """The queue for the answers; None after `disconnect`."""
        return self.__reply_queue

    @property
    def reply_queue_name(self) -> bytes | None:
        """Its name; None after `disconnect`."""
        return None if self.__reply_queue is None else self.__od.ObjectName.strip()

    @property
    def response_wait_interval(self) -> int:
        """How long to wait for each answer, in milliseconds."""
        return self.__response_wait_interval

    def __getattr__(self, name: str) -> Callable[..., list[Answer]]:
        command = getattr(CMQCFC, name, None) if name.startswith(_FAMILY) else None
        if command is None:
            raise AttributeError(f"{type(self).__name__} has no {name}")

        def execute(args: Arguments = (), filters: Iterable[AttributeFilter | MQOpts] = ()) -> list[Answer]:
            return self.__execute(command, args, filters)

        return execute

    @property
    def CMQCFC(self) -> PCFExecute:  # noqa: N802 - pymqi's name
        """Itself: a command may also be called as ``pcf.CMQCFC.MQCMD_PING_Q_MGR()``."""
        return self

    @checked_call
    def __execute(self, command: int, args: Arguments, filters: Iterable[AttributeFilter | MQOpts]) -> list[Answer]:
        """Send a command and return its answers.

        Raises:
            MQMIError: what the first answer that reports a failure says (MQRCCF_* or MQRC_*); 2033 no answer came in
                time; the codes of the calls.
            PYIFError: an argument is of a wrong type, or a number does not fit its 32 bits.
        """
        given = _parameters(args or (), self._manager.bytes_encoding)
        given += [each.structure() if isinstance(each, AttributeFilter) else each for each in filters]
        parameters = [_structure(each) for each in given]
        header = CFH(
            Type=CMQCFC.MQCFT_COMMAND_XR,
            Version=CMQCFC.MQCFH_VERSION_3,
            Command=command,
            ParameterCount=_count(parameters),
        )
        try:
            message = b"".join(each.pack() for each in (header, *parameters))
        except WrongMemberError as error:
            raise WrongMemberError(f"PCF: {error.error}") from error
        reply_queue = self.__open_reply_queue()
        request = MD(
            Format=CMQC.MQFMT_ADMIN,
            CodedCharSetId=self._manager.default_ccsid,
            MsgType=CMQC.MQMT_REQUEST,
            ReplyToQ=self.reply_queue_name,
            Expiry=self.__response_wait_interval // _MS_PER_EXPIRY_UNIT or 1,
            Report=CMQC.MQRO_PASS_DISCARD_AND_EXPIRY | CMQC.MQRO_DISCARD_MSG,
        )
        options = PMO(Options=CMQC.MQPMO_NO_SYNCPOINT)
        self._manager.put1(OD(ObjectName=ensure_bytes(self.__command_queue_name)), message, request, options)
        return self.__answers(reply_queue, request.MsgId)

    def __answers(self, reply_queue: Queue, request_id: bytes) -> list[Answer]:
        options = GMO(
            Options=CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_FAIL_IF_QUIESCING | CMQC.MQGMO_WAIT,
            Version=CMQC.MQGMO_VERSION_2,
            MatchOptions=CMQC.MQMO_MATCH_CORREL_ID,
            WaitInterval=self.__response_wait_interval,
        )
        if self.__convert:
            options.Options |= CMQC.MQGMO_CONVERT
        answers: list[Answer] = []
        failure: MQMIError | None = None
        is_last = is_scope = is_scope_done = False
        while not is_last:
            try:
                header, answer = _read(reply_queue.get(None, MD(CorrelId=request_id), options))
            except MQMIError as error:
                raise failure or error from error
            # With a CMDSCOPE each member has a set of answers of its own, and the last set says that all are there.
            info = answer.get(CMQCFC.MQIACF_COMMAND_INFO) if header.Type == CMQCFC.MQCFT_XR_MSG else None
            is_scope = is_scope or info == CMQCFC.MQCMDI_CMDSCOPE_ACCEPTED
            is_scope_done = is_scope_done or info == CMQCFC.MQCMDI_CMDSCOPE_COMPLETED
            is_last = header.Control == CMQCFC.MQCFC_LAST and (is_scope_done or not is_scope)
            if header.CompCode and failure is None:
                # The rest of the answers must not stay on the queue.
                failure = MQMIError(header.CompCode, header.Reason)
            if header.Type not in _WITHOUT_OBJECT:
                answers.append(answer)
        if failure is not None:
            raise failure
        return answers

    def __open_reply_queue(self) -> Queue:
        if self.__reply_queue is None:
            raise PYIFError("disconnected from the reply queue")
        if self.__reply_queue.get_handle() is None:
            self.__reply_queue.open(self.__od, CMQC.MQOO_INPUT_EXCLUSIVE)
        return self.__reply_queue

    @staticmethod
    def stringify_keys(rawDict: Mapping[int, Any]) -> dict[int | str, Any]:  # noqa: N803 - pymqi's name
        """The attributes with their names, where they are of an object (MQCA_* for bytes, MQIA_* for the others)."""
        named: dict[int | str, Any] = {}
        for key, value in rawDict.items():
            ensure_not_unicode(value)
            names = PCFExecute.caStringDict if isinstance(value, bytes) else PCFExecute.iaStringDict
            named[names.get(key, key)] = value
        return named

    stringifyKeys = stringify_keys  # noqa: N815

    def disconnect(self) -> None:
        """Close the queue for the answers, which goes, and end the connection if this object made it."""
        queue, self.__reply_queue = self.__reply_queue, None
        if queue is None:
            return
        with suppress(MQMIError, PYIFError):
            queue.close()
        if self.qm is None:
            super().disconnect()

    @staticmethod
    def unpack(message: bytes) -> tuple[Answer, CFH]:
        """Read a PCF message: an answer, an event, statistics.

        Returns:
            The parameters: strings padded with nulls to a multiple of four, a group in a list of dictionaries, a filter
            as its operator and value; and the header.

        Raises:
            MQMIError: what the header says, unless it is MQCC_OK, or that of an event, which has always MQCC_WARNING.
            PYIFError: it is no PCF message.
        """
        header, answer = _read(message)
        if header.CompCode and header.Type != CMQCFC.MQCFT_EVENT:
            raise MQMIError(header.CompCode, header.Reason)
        return answer, header


def _parameters(args: Arguments, encoding: str) -> list[Any]:
    if isinstance(args, Mapping):
        return [_parameter(key, value, encoding) for key, value in args.items()]
    return list(args)


@checked_call
def _structure(given: MQOpts) -> MQOpts:
    return given


@checked_call
def _parameter(key: int, value: Any, encoding: str) -> MQOpts:
    if isinstance(value, ByteString):
        return CFBS(Parameter=key, String=value.value)
    if isinstance(value, str | bytes):
        return CFST(Parameter=key, String=ensure_bytes(value, encoding))
    if isinstance(value, int):
        return CFIL(Parameter=key, Values=[value]) if key in _ATTRIBUTE_LISTS else CFIN(Parameter=key, Value=value)
    if isinstance(value, list):
        is_text = isinstance(value[0], str | bytes) if value else CMQC.MQCA_FIRST <= key <= CMQC.MQCA_LAST
        if is_text:
            return CFSL(Parameter=key, Strings=[ensure_bytes(each, encoding) for each in value])
        return CFIL(Parameter=key, Values=value)
    raise WrongTypeError(f"parameter {key} is a number, text, bytes, a ByteString or a list, not {type(value)}")


def _count(parameters: Iterable[MQOpts]) -> int:
    """Parameters of the message: a group with all that is in it is one."""
    count = inside = 0
    for each in parameters:
        if inside:
            inside -= 1
        else:
            count += 1
        if isinstance(each, CFGR):
            inside += each.ParameterCount
    return count


def _read(message: bytes) -> tuple[CFH, Answer]:
    ensure_not_unicode(message)
    # The type is a small number: its first byte is null only if the large end comes first.
    encoding = CMQC.MQENC_INTEGER_NORMAL if message[:1] == b"\0" else CMQC.MQENC_INTEGER_REVERSED
    try:
        found, _ = read_from(message, 0, Representation(DEFAULT_CCSID, encoding))
    except pcf.PCFError as error:
        raise PYIFError(f"PCF: {error}") from error
    header = CFH(
        Type=found.header.type,
        Version=found.header.version,
        Command=found.header.command,
        MsgSeqNumber=found.header.msg_seq_number,
        Control=found.header.control,
        CompCode=found.header.comp_code,
        Reason=found.header.reason,
        ParameterCount=len(found.parameters),
    )
    return header, _answer(found.parameters)


def _answer(parameters: Iterable[pcf.Parameter]) -> Answer:
    answer: Answer = {}
    groups: dict[int, list[Answer]] = {}
    for each in parameters:
        if isinstance(each, pcf.MQCFGR):
            # A value of the same number is given up: a list of numbers takes no group.
            answer[each.parameter] = groups.setdefault(each.parameter, [])
            groups[each.parameter].append(_answer(each.parameters))
        else:
            answer[each.parameter] = _value(each)
    return answer


def _value(one: pcf.Parameter) -> Any:
    match one:
        case pcf.MQCFIL() | pcf.MQCFIL64():
            return list(one.values)
        case pcf.MQCFSL():
            return list(one.strings)
        case pcf.MQCFIF():
            return one.operator, one.filter_value
        case pcf.MQCFSF() | pcf.MQCFBF():
            return one.operator, _padded(one.filter_value)
        case pcf.MQCFST() | pcf.MQCFBS():
            return _padded(one.string)
        case pcf.MQCFIN() | pcf.MQCFIN64():
            return one.value
    raise AssertionError(type(one))


def _padded(string: bytes) -> bytes:
    """A string with the nulls that fill its place in the message."""
    return string.ljust(padded_count(len(string)), b"\0")
