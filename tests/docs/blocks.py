"""Reads the code blocks of a Markdown page and the instructions for the test of the page.

A fenced block is a part of the page's test. Its language and title say what the test does:

| block                        | what the test does                                                      |
|------------------------------|-------------------------------------------------------------------------|
| `sh`                         | runs the lines in the first terminal; the last command must succeed     |
| `console`                    | runs each line after `$ `, which can continue after `> `, and compares  |
|                              | the lines that follow                                                   |
| title="terminal 2"           | runs the block in this terminal                                         |
| title="on zk1"               | runs the block on this machine                                          |
| title="on every machine"     | runs the block on zk1, zk2 and zk3                                      |
| any other title, a file name | writes the block to this file                                           |
| `cpp` without a title        | compiles these blocks of all pages as one program, and runs it          |

A terminal is one shell, so variables, the working folder and files remain for the next block.

HTML comments, which readers do not see, contain instructions:

    <!-- test: COMMANDS -->                runs shell commands in the first terminal
    <!-- test in terminal 2: COMMANDS -->  runs shell commands in this terminal
    <!-- test: exits 1 -->                 the last command of the next block exits with 1
    <!-- test: until COMMAND -->           the next block continues to run. Waits until COMMAND, run
                                           in another shell, succeeds
    <!-- test: interrupt terminal 2 -->    sends SIGINT to the block that runs there, and compares
                                           its output
    <!-- test: wait for terminal 2 -->     waits for the end of the block that runs there, and
                                           compares its output. Also: `terminal 2, exits 1`
"""

import dataclasses
import re

LANGUAGES = {"sh", "console", "cpp", "python", "sql", "cmake", "ini"}
PART = re.compile(
    r"^<!-- test(?: in (?P<where>[\w ]+))?:\s+(?P<instruction>.*?)\s*-->"
    r"|^(?P<indent> *)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]*)\")?[^\n]*\n(?P<text>.*?)^ *```$",
    re.S | re.M,
)


@dataclasses.dataclass
class Part:
    line: int
    kind: str  # "instruction", or the language of a block
    text: str
    title: str  # for an instruction, the terminal


def parts_of(text):
    parts = []
    for match in PART.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["instruction"] is not None:
            parts.append(Part(line, "instruction", match["instruction"], match["where"] or ""))
        else:
            body = re.sub(f"^{match['indent']}", "", match["text"], flags=re.M)
            parts.append(Part(line, match["language"], body, match["title"] or ""))
    if len(re.findall(r"^ *```|^<!-- test", text, re.M)) != sum(1 if p.kind == "instruction" else 2 for p in parts):
        raise ValueError("a code block or an instruction is not complete")
    return parts


# --- comparing output

# In the expected output, these stand for any text of the same kind. `...` stands for any text, and
# a line with only `...` for any lines.
VARYING = [
    (r"\.\.\.", r".*"),
    (r"\.[0-9a-f]{9,16}\b", r"\.[0-9a-f]+"),  # zxids in the names of nodes
    (r"\d{9,}", r"\\d+"),  # fencing tokens, session ids
    (r"\b[a-z][\w.-]*:\d{3,5}\b(?=$|\s)", r"\\S+"),  # HOST:PROCESS
    (r"\bprocess \d+", r"process \\d+"),
    (r"\b\d+(?:\.\d+)?(?:ms|s|m)\b", r"[\\d.]+(?:ms|s|m)"),
    (r"\b\d+ s\b", r"\\d+ s"),
    (r" +", r" +"),
]


def pattern_of(expected):
    """A regular expression for the output that a page shows.

    Pages show what a terminal shows. In the test, the output goes to a file, so `conclave status` uses
    other characters for the tree and for holders.
    """
    lines = []
    expected = re.sub("[└├]─", "  ", expected).replace("●", "*")
    for line in expected.rstrip().splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
            continue
        pattern, rest = "", line.rstrip()
        while rest:
            for varying, replacement in VARYING:
                # A name begins at the start of a word.
                if re.match(varying, rest) and not (pattern[-1:].isalnum() and rest[0].isalnum()):
                    length = re.match(varying, rest).end()
                    pattern += replacement.replace("\\\\", "\\")
                    break
            else:
                length = 1
                pattern += re.escape(rest[0])
            rest = rest[length:]
        lines.append(pattern + r" *\n")
    return "".join(lines)


def matches(expected, output):
    output = re.sub("[└├]─", "  ", output).replace("●", "*")
    output = output if output.endswith("\n") or not output else output + "\n"
    return re.fullmatch(pattern_of(expected), output) is not None


def commands_of(console):
    """The commands of a console block, each with its expected output."""
    found = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        elif found:
            found[-1][1] += line + "\n"
        else:
            raise ValueError(f"output without a command: {line}")
    return found
