"""The generated C headers: they compile alone, and have IBM's numbers and layouts.

The comparison reads the public headers which the npm package ``ibmmq`` carries: TESTS_NPM_IBMMQ names its folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from igq.mqm.structures import Structure, of_cmqc, of_cmqcfc, of_cmqxc

_HEADERS = ("cmqc.h", "cmqxc.h", "cmqcfc.h", "cmqstrc.h")
_LENGTHS = {"MQMD1": "MQMD_LENGTH_1", "MQMD2": "MQMD_LENGTH_2", "MQTMC2": "MQTMC_LENGTH_2"}


def _run(source: str, folder: Path, *arguments: str, compiler: str = "gcc") -> str:
    """Compile a program, run it, and return its output."""
    file = folder / ("program.cpp" if compiler == "g++" else "program.c")
    file.write_text(source)
    binary = folder / "program"
    subprocess.run([compiler, "-Wall", "-Wextra", *arguments, str(file), "-o", str(binary)], check=True, timeout=120)
    return subprocess.run([str(binary)], check=True, capture_output=True, text=True, timeout=60).stdout


def _structures() -> dict[str, Structure]:
    return {**of_cmqc(), **of_cmqxc(), **of_cmqcfc()}


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
@pytest.mark.parametrize("header", _HEADERS)
def test_each_header_compiles_alone_without_a_warning(
    compiler: str, header: str, headers: Path, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    standard = "-std=c++11" if compiler == "g++" else "-std=c11"
    source = f'#include "{header}"\nint main(void) {{ return 0; }}\n'
    _run(source, tmp_path, standard, "-pedantic", "-Werror", f"-I{headers}", compiler=compiler)


def test_initial_values_compile_and_lengths_are_those_of_the_constants(gcc: str, headers: Path, tmp_path: Path) -> None:
    lines, defined = [], _macros(gcc, headers)
    for name in _structures():
        constant = _LENGTHS.get(name, f"{name}_CURRENT_LENGTH")
        lines.append(f"{{ {name} it = {{{name}_DEFAULT}}; (void)it; }}")
        if constant in defined:
            lines.append(f'_Static_assert(sizeof({name}) == {constant}, "{name}");')
    includes = "".join(f'#include "{header}"\n' for header in _HEADERS)
    body = "\n".join(lines)
    source = f"#include <stdio.h>\n{includes}int main(void) {{\n{body}\nputs(MQRC_STR(2033)); return 0; }}\n"
    printed = _run(source, tmp_path, "-std=c11", "-pedantic", "-Werror", f"-I{headers}", compiler=gcc)
    assert printed == "MQRC_NO_MSG_AVAILABLE\n"


_INCLUDES = '#include <stdio.h>\n#include "cmqc.h"\n#include "cmqxc.h"\n'

# -- beside the public headers ------------------------------------------------------

#: Constants that differ because the package's headers are of a later level, or tell of exits that nobody has here.
_DIFFER = {"MQCMDL_CURRENT_LEVEL", "MQIA_LAST_USED", "MQWQR_CURRENT_LENGTH", "MQWQR_CURRENT_VERSION"}


@pytest.fixture(scope="module")
def public() -> Path:
    """The folder of the public headers."""
    root = Path(os.environ.get("TESTS_NPM_IBMMQ", "node_modules/ibmmq")) / "src"
    if not (root / "unix/cmqc.h").exists():
        pytest.skip("needs the npm package ibmmq: npm install --ignore-scripts ibmmq, TESTS_NPM_IBMMQ names its folder")
    return root


def _on_both(source: str, folder: Path, headers: Path, public: Path) -> tuple[list[str], list[str]]:
    """The lines that a program prints with our headers, and with theirs."""
    with_ours = _run(source, folder, f"-I{headers}")
    with_theirs = _run(source, folder, f"-I{public / 'unix'}", f"-I{public}")
    return with_ours.splitlines(), with_theirs.splitlines()


def _macros(gcc: str, *folders: Path) -> dict[str, str]:
    source = '#include "cmqc.h"\n#include "cmqxc.h"\n'
    command = [gcc, "-dM", "-E", "-xc", *(f"-I{each}" for each in folders), "-"]
    told = subprocess.run(command, input=source, check=True, capture_output=True, text=True, timeout=60).stdout
    pairs = (line.removeprefix("#define ").partition(" ")[::2] for line in told.splitlines())
    is_value = re.compile(r"MQ\w+").fullmatch
    return {name: value for name, value in pairs if is_value(name) and value not in ("", "*")}


def test_constants_are_those_of_the_public_headers(gcc: str, headers: Path, public: Path, tmp_path: Path) -> None:
    ours_macros, theirs_macros = _macros(gcc, headers), _macros(gcc, public / "unix", public)
    # Initial values and arrays of characters are in the other test.
    both = sorted(name for name in ours_macros.keys() & theirs_macros.keys() if "," not in ours_macros[name])
    numbers = [name for name in both if not ours_macros[name].startswith(('"', "'"))]
    texts = [name for name in both if ours_macros[name].startswith('"')]
    lines = [f'printf("{name} %ld\\n", (long)(MQLONG)({name}));' for name in numbers]
    lines += [f'printf("{name} "); show({name}, sizeof({name}) - 1);' for name in texts]
    body = "\n".join(lines)
    show = 'static void show(const char *p, size_t n) {\nwhile (n--) printf("%02x", (unsigned char)*p++); puts(""); }\n'
    ours, theirs = _on_both(f"{_INCLUDES}{show}int main(void) {{\n{body}\nreturn 0; }}\n", tmp_path, headers, public)
    assert len(ours) > 2600
    assert {one.split()[0] for one, other in zip(ours, theirs, strict=True) if one != other} == _DIFFER


@pytest.mark.usefixtures("gcc")
def test_layouts_and_initial_values_are_those_of_the_public_headers(
    headers: Path, public: Path, tmp_path: Path
) -> None:
    lines = []
    for name, members in {**of_cmqc(), **of_cmqxc()}.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for each in members:
            place = f"offsetof({name}, {each.name}), sizeof((({name} *)0)->{each.name})"
            lines.append(f'printf("{name}.{each.name} %zu %zu\\n", {place});')
        if name != "MQCBC":
            # The public headers have no initial value of it.
            lines.append(f'{{ static {name} it = {{{name}_DEFAULT}}; show("{name}", &it, sizeof it); }}')
    body = "\n".join(lines)
    show = (
        'static void show(const char *name, const void *at, size_t n) { printf("%s", name);\n'
        'for (size_t i = 0; i < n; i++) printf(" %02x", ((const unsigned char *)at)[i]); puts(""); }\n'
    )
    source = f"#include <stddef.h>\n{_INCLUDES}{show}int main(void) {{\n{body}\nreturn 0; }}\n"
    ours, theirs = _on_both(source, tmp_path, headers, public)
    assert len(ours) > 300
    assert [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]] == []
