"""A strict reader of LaTeX tables: it raises where LaTeX would, or would print something else than was meant."""

import re

TABULAR = re.compile(r"\\begin\{tabular\}\{((?:[lr]|p\{[\d.]+\\linewidth\})+)\}\n(.*?)\\end\{tabular\}", re.S)
SPECIAL = set('#^~%_"<>|')


def tabulars(text: str) -> list[list[list[str]]]:
    """The cells of each tabular of a file, after checking braces, special characters and numbers of columns."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    check(body)
    opened = re.findall(r"\\(begin|end)\{(\w+)\}", body)
    depth: list[str] = []
    for what, name in opened:
        if what == "begin":
            depth.append(name)
        else:
            assert depth.pop() == name
    assert not depth
    found = []
    for match in TABULAR.finditer(body):
        kinds = re.findall(r"[lr]|p\{[^}]*\}", match[1])
        inside = match[2]
        assert inside.startswith("\\toprule\n")
        assert inside.endswith("\\bottomrule\n")
        lines = [line for line in inside.splitlines() if line not in ("\\toprule", "\\midrule", "\\bottomrule")]
        assert inside.count("\\midrule") == 1
        rows = []
        for line in lines:
            assert line.endswith(r" \\")
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)&", line.removesuffix(r" \\"))])
            assert len(rows[-1]) == len(kinds)
            assert not re.match(r"\s*[\[*]", line)  # which would be an option of the line before
        found.append(rows)
    assert len(found) == body.count("\\begin{tabular}")
    return found


def check(body: str) -> None:
    """Braces are balanced, and every special character is escaped or in its place."""
    depth, math, place = 0, False, 0
    while place < len(body):
        one = body[place]
        if one == "\\":
            command = re.match(r"\\(?:[A-Za-z]+|.)", body[place:], re.S)
            assert command is not None
            place += len(command[0])
            continue
        if one in "{}":
            depth += 1 if one == "{" else -1
            assert depth >= 0, body[:place]
        elif one == "$":
            math = not math
        elif one in SPECIAL:
            raise AssertionError(f"{one!r} is not escaped in {body[max(0, place - 30) : place + 5]!r}")
        elif ord(one) > 0x17E:
            raise AssertionError(f"pdfLaTeX has no {one!r}")
        if one == "\n":
            assert not math
        place += 1
    assert depth == 0
    assert not math
