"""Writes cmqc.h, cmqxc.h, cmqcfc.h and cmqstrc.h: IBM's names and numbers, from this project's own tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

from igq.mqm.structures import Structure, StructureMember, of_client_channel, of_cmqc, of_cmqcfc, of_cmqxc
from sharedq.pymqi import CMQC, CMQCFC, CMQXC

#: The numbers that IBM's headers have on Linux and the Python module, which names another platform's, has not; and
#: those of structures' versions that are later than the module.
_OVERRIDES: Final[dict[str, int]] = {
    "MQAT_DEFAULT": CMQC.MQAT_UNIX,
    "MQPL_NATIVE": CMQC.MQPL_UNIX,
    "MQ_MCA_USER_ID_LENGTH": 12,
    "MQCSP_VERSION_1": 1,
    "MQCSP_VERSION_2": 2,
    "MQCSP_VERSION_3": 3,
    "MQCSP_CURRENT_VERSION": 3,
    "MQCSP_LENGTH_2": 80,
    "MQCSP_LENGTH_3": 104,
    "MQCSP_CURRENT_LENGTH": 104,
    "MQCSP_AUTH_ID_TOKEN": 2,
    "MQSCO_VERSION_6": 6,
    "MQSCO_VERSION_7": 7,
    "MQSCO_CURRENT_VERSION": 7,
    "MQSCO_LENGTH_6": 648,
    "MQSCO_LENGTH_7": 672,
    "MQSCO_CURRENT_LENGTH": 672,
}
_LATER_CHANNEL: Final = {
    "MQCD_VERSION_13": 13,
    "MQCD_CURRENT_VERSION": 13,
    "MQCD_LENGTH_13": 2000,
    "MQCD_CURRENT_LENGTH": 2000,
}
#: Structures of which programs hold arrays or pointers before the structure is known.
_SCALARS: Final = (
    ("MQBYTE", "unsigned char"),
    ("MQCHAR", "char"),
    ("MQLONG", "int32_t"),
    ("MQULONG", "uint32_t"),
    ("MQINT8", "int8_t"),
    ("MQUINT8", "uint8_t"),
    ("MQINT16", "int16_t"),
    ("MQUINT16", "uint16_t"),
    ("MQINT32", "int32_t"),
    ("MQUINT32", "uint32_t"),
    # "long" as IBM has it: printf's formats depend on it.
    ("MQINT64", "long"),
    ("MQUINT64", "unsigned long"),
    ("MQFLOAT32", "float"),
    ("MQFLOAT64", "double"),
    ("MQHCONN", "MQLONG"),
    ("MQHOBJ", "MQLONG"),
    ("MQHMSG", "MQINT64"),
    ("MQBOOL", "MQLONG"),
    ("MQPID", "MQLONG"),
    ("MQTID", "MQLONG"),
    ("MQPTR", "void *"),
)
_CHARACTERS: Final = (4, 8, 12, 16, 20, 28, 32, 48, 64, 128, 256, 264, 1024)
_BYTES: Final = (4, 8, 16, 24, 32, 40, 48, 128)

_STRING: Final = """\
typedef struct tagMQCHARV {
  MQPTR VSPtr;
  MQLONG VSOffset;
  MQLONG VSBufSize;
  MQLONG VSLength;
  MQLONG VSCCSID;
} MQCHARV;
typedef MQCHARV MQPOINTER PMQCHARV;
#define MQCHARV_DEFAULT 0, 0, 0, 0, MQCCSI_APPL"""

#: The parameters of each call before CompCode and Reason.
_CALLS: Final = {
    "MQCONN": "PMQCHAR pQMgrName, PMQHCONN pHconn",
    "MQCONNX": "PMQCHAR pQMgrName, PMQCNO pConnectOpts, PMQHCONN pHconn",
    "MQDISC": "PMQHCONN pHconn",
    "MQOPEN": "MQHCONN Hconn, PMQVOID pObjDesc, MQLONG Options, PMQHOBJ pHobj",
    "MQCLOSE": "MQHCONN Hconn, PMQHOBJ pHobj, MQLONG Options",
    "MQPUT": "MQHCONN Hconn, MQHOBJ Hobj, PMQVOID pMsgDesc, PMQVOID pPutMsgOpts, MQLONG BufferLength, PMQVOID pBuffer",
    "MQPUT1": "MQHCONN Hconn, PMQVOID pObjDesc, PMQVOID pMsgDesc, PMQVOID pPutMsgOpts, MQLONG BufferLength,"
    " PMQVOID pBuffer",
    "MQGET": "MQHCONN Hconn, MQHOBJ Hobj, PMQVOID pMsgDesc, PMQVOID pGetMsgOpts, MQLONG BufferLength, PMQVOID pBuffer,"
    " PMQLONG pDataLength",
    "MQINQ": "MQHCONN Hconn, MQHOBJ Hobj, MQLONG SelectorCount, PMQLONG pSelectors, MQLONG IntAttrCount,"
    " PMQLONG pIntAttrs, MQLONG CharAttrLength, PMQCHAR pCharAttrs",
    "MQSET": "MQHCONN Hconn, MQHOBJ Hobj, MQLONG SelectorCount, PMQLONG pSelectors, MQLONG IntAttrCount,"
    " PMQLONG pIntAttrs, MQLONG CharAttrLength, PMQCHAR pCharAttrs",
    "MQBEGIN": "MQHCONN Hconn, PMQVOID pBeginOptions",
    "MQCMIT": "MQHCONN Hconn",
    "MQBACK": "MQHCONN Hconn",
    "MQSUB": "MQHCONN Hconn, PMQVOID pSubDesc, PMQHOBJ pHobj, PMQHOBJ pHsub",
    "MQSUBRQ": "MQHCONN Hconn, MQHOBJ Hsub, MQLONG Action, PMQVOID pSubRqOpts",
    "MQSTAT": "MQHCONN Hconn, MQLONG Type, PMQVOID pStatus",
    "MQCB": "MQHCONN Hconn, MQLONG Operation, PMQVOID pCallbackDesc, MQHOBJ Hobj, PMQVOID pMsgDesc,"
    " PMQVOID pGetMsgOpts",
    "MQCTL": "MQHCONN Hconn, MQLONG Operation, PMQVOID pControlOpts",
    "MQCRTMH": "MQHCONN Hconn, PMQVOID pCrtMsgHOpts, PMQHMSG pHmsg",
    "MQDLTMH": "MQHCONN Hconn, PMQHMSG pHmsg, PMQVOID pDltMsgHOpts",
    "MQSETMP": "MQHCONN Hconn, MQHMSG Hmsg, PMQVOID pSetPropOpts, PMQVOID pName, PMQVOID pPropDesc, MQLONG Type,"
    " MQLONG ValueLength, PMQVOID pValue",
    "MQINQMP": "MQHCONN Hconn, MQHMSG Hmsg, PMQVOID pInqPropOpts, PMQVOID pName, PMQVOID pPropDesc, PMQLONG pType,"
    " MQLONG ValueLength, PMQVOID pValue, PMQLONG pDataLength",
    "MQDLTMP": "MQHCONN Hconn, MQHMSG Hmsg, PMQVOID pDltPropOpts, PMQVOID pName",
    "MQBUFMH": "MQHCONN Hconn, MQHMSG Hmsg, PMQVOID pBufMsgHOpts, PMQVOID pMsgDesc, MQLONG BufferLength,"
    " PMQVOID pBuffer, PMQLONG pDataLength",
    "MQMHBUF": "MQHCONN Hconn, MQHMSG Hmsg, PMQVOID pMsgHBufOpts, PMQVOID pName, PMQVOID pMsgDesc,"
    " MQLONG BufferLength, PMQVOID pBuffer, PMQLONG pDataLength",
    "MQXCNVC": "MQHCONN Hconn, MQLONG Options, MQLONG SourceCCSID, MQLONG SourceLength, PMQCHAR pSourceBuffer,"
    " MQLONG TargetCCSID, MQLONG TargetLength, PMQCHAR pTargetBuffer, PMQLONG pDataLength",
}
#: The entry points of the library.
CALLS: Final = tuple(_CALLS)

_Constants = dict[str, int | bytes | list[bytes]]
_GROUP: Final = re.compile(r"(MQ[A-Z0-9]*)_")


def write_headers(folder: Path) -> None:
    """Write the four headers into a folder, which is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in _headers().items():
        guard = name.replace(".", "_").upper()
        text = "\n".join(
            (f"/* {name}, generated by igq from its own tables. */", f"#ifndef {guard}", f"#define {guard}", *lines)
        )
        (folder / name).write_text(text + "\n#endif\n")


def _headers() -> Mapping[str, list[str]]:
    basic, exits, commands = (_constants(module) for module in (CMQC, CMQXC, CMQCFC))
    for name in [name for name, value in exits.items() if basic.get(name, value) != value]:
        # Both modules have it, of different levels. The structure is in cmqxc.h.
        del basic[name]
    basic |= _OVERRIDES
    exits |= _LATER_CHANNEL
    base = '#include "cmqc.h"'
    return {
        "cmqc.h": [*_types(), *_defines(basic), _STRING, *_structures(of_cmqc()), *_prototypes()],
        "cmqxc.h": [
            base,
            *_defines(exits),
            *_structures(of_cmqxc()),
            *_default("MQCD_CLIENT_CONN", of_client_channel()),
        ],
        "cmqcfc.h": [base, *_defines(commands), *_structures(of_cmqcfc())],
        "cmqstrc.h": [base, '#include "cmqxc.h"', '#include "cmqcfc.h"', *_names({**basic, **exits, **commands})],
    }


def _constants(module: ModuleType) -> _Constants:
    return {name: value for name, value in vars(module).items() if name.startswith("MQ")}


def _types() -> Iterator[str]:
    yield "#include <stdint.h>"
    yield "#define MQENTRY"
    yield "#define MQPOINTER *"
    for name, type_ in _SCALARS:
        yield f"typedef {type_} {name};"
        yield f"typedef {name} MQPOINTER P{name};"
        yield f"typedef P{name} MQPOINTER PP{name};"
    yield "typedef void MQPOINTER PMQVOID;"
    yield "typedef PMQVOID MQPOINTER PPMQVOID;"
    yield "typedef void MQPOINTER PMQFUNC;"
    yield "typedef struct tagMQIEP MQPOINTER MQHCONFIG;"
    for kind, sizes in (("MQCHAR", _CHARACTERS), ("MQBYTE", _BYTES)):
        for size in sizes:
            yield f"typedef {kind} {kind}{size}[{size}];"
            yield f"typedef {kind}{size} MQPOINTER P{kind}{size};"


def _defines(constants: _Constants) -> Iterator[str]:
    for name, value in constants.items():
        yield f"#define {name} {_literal(value)}"


def _literal(value: int | bytes | list[bytes]) -> str:
    if isinstance(value, int):
        return f"({value})" if value < 0 else str(value) if value < 2**31 else hex(value)
    if isinstance(value, list):
        return ",".join(map(_character, value))
    if len(value) == 1:
        return _character(value)
    return (
        '"'
        + "".join(chr(each) if 32 <= each < 127 and each not in b'"\\?' else f"\\{each:03o}" for each in value)
        + '"'
    )


def _character(value: bytes) -> str:
    return f"'{value.decode()}'" if value.isalnum() or value in b" *.-" else f"'\\{value[0]:03o}'"


def _structures(structures: Mapping[str, Structure]) -> Iterator[str]:
    for name in structures:
        yield f"typedef struct tag{name} {name};"
        yield f"typedef {name} MQPOINTER P{name};"
        yield f"typedef P{name} MQPOINTER PP{name};"
    # A structure may have another one inside.
    for name, members in sorted(structures.items(), key=lambda each: any(m.type.startswith("MQMD") for m in each[1])):
        yield f"struct tag{name} {{"
        for member in members:
            yield f"  {member.type} {member.name}{f'[{member.count}]' if member.count else ''};"
        yield "};"
        yield from _default(name, members)


def _default(name: str, members: Structure) -> Iterator[str]:
    yield f"#define {name}_DEFAULT " + ", \\\n  ".join(map(_initial, members))


def _initial(member: StructureMember) -> str:
    value = member.initial
    if isinstance(value, str):
        return value
    if not member.count:
        return _literal(value)
    if isinstance(value, bytes) and value:
        # Characters one by one: a text needs room for the null after it.
        return "{" + ",".join(_character(value[at : at + 1]) for at in range(min(len(value), member.count))) + "}"
    return "{0}"


def _prototypes() -> Iterator[str]:
    yield "#ifdef __cplusplus"
    yield 'extern "C" {'
    yield "#endif"
    yield "typedef void MQENTRY MQCB_FUNCTION(MQHCONN Hconn, PMQVOID pMsgDesc, PMQVOID pGetMsgOpts, PMQVOID pBuffer,"
    yield "  PMQCBC pContext);"
    yield "typedef MQCB_FUNCTION MQPOINTER PMQCB_FUNCTION;"
    for name, parameters in _CALLS.items():
        yield f"void MQENTRY {name}({parameters}, PMQLONG pCompCode, PMQLONG pReason);"
    yield "#ifdef __cplusplus"
    yield "}"
    yield "#endif"


def _names(constants: _Constants) -> Iterator[str]:
    """For each group of numbers a function that names one: ``MQRC_STR(2033)``."""
    groups: dict[str, dict[int, str]] = {}
    for name, value in constants.items():
        told = _GROUP.match(name)
        if isinstance(value, int) and told:
            groups.setdefault(told[1], {}).setdefault(value, name)
    yield "#if defined(__GNUC__)"
    yield "#define MQ_STR_FUNCTION static __attribute__((unused)) char *"
    yield "#else"
    yield "#define MQ_STR_FUNCTION static char *"
    yield "#endif"
    for group, names in groups.items():
        yield f"MQ_STR_FUNCTION {group}_STR(MQLONG v) {{"
        yield "  switch (v) {"
        seen = set()
        for value, name in names.items():
            if value & 0xFFFFFFFF not in seen:
                seen.add(value & 0xFFFFFFFF)
                yield f'  case (MQLONG){_literal(value)}: return (char *)"{name}";'
        yield '  default: return (char *)"";'
        yield "  }"
        yield "}"
