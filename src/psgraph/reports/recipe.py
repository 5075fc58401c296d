"""How to check releases by hand, with nothing but Python's standard library and sha256sum.

The public report prints this text, and a test runs exactly what is printed.
"""

from __future__ import annotations

__all__ = ["COMMANDS", "DIGEST_WORDS", "SCRIPT"]

DIGEST_WORDS = (
    "The digest of a certificate is the SHA-256 digest of its content without the field digest, "
    "written as JSON in one way only: the names of every object in ascending order, no spaces or "
    "line breaks, numbers as they are in the file, and every character outside ASCII as \\u with "
    "four lower-case hexadecimal digits (two of these, a surrogate pair, above U+FFFF). The file "
    "itself has these characters as UTF-8: ε in the file is \\u03b5 in the digest."
)

SCRIPT = r"""import hashlib, json, sys
from fractions import Fraction
from pathlib import Path

def check(holds, number, what):
    if not holds:
        sys.exit(f"{number:06d}.json: {what}")

files = sorted(Path().glob("[0-9]*.json"))
certificates = [json.loads(file.read_text(encoding="utf-8")) for file in files]
for number, certificate in enumerate(certificates):
    content = {name: value for name, value in certificate.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    check(digest == certificate["digest"], number, "the digest is wrong")
    before = certificates[number - 1]["digest"] if number else None
    check(certificate["previous"] == before, number, "it does not follow the one before")
    check(certificate["timestamp"] == number, number, "a certificate is missing")
    for term in ("epsilon", "window", "method", "private"):
        check(certificate[term] == certificates[0][term], number, f"{term} has changed")
    window = certificates[max(0, number + 1 - certificate["window"]) : number + 1]
    spent = sum(Fraction(each["spent"]["timestamp"]) for each in window)
    check(spent <= Fraction(certificate["epsilon"]), number, "its window spent too much")
    parts = sorted(Path(f"{number:06d}").glob("[!.]*"))
    size = certificate.get("graph_part_nodes")
    check(len(parts) == (-(-certificate["nodes"] // size) if size else 0), number, "parts differ")
    if parts:
        names = [f"part-{part:05d}.parquet" for part in range(len(parts))]
        digests = [hashlib.sha256(part.read_bytes()).hexdigest() for part in parts]
        lines = "".join(f"{each}  {name}\n" for each, name in zip(digests, names))
        found = hashlib.sha256(lines.encode("ascii")).hexdigest()
        check([part.name for part in parts] == names, number, "a part has another name")
        check(found == certificate["graph_sha256"], number, "a part was changed")
    else:
        print(f"{certificate['graph_sha256']}  {number:06d}.parquet")
    if "nodes_sha256" in certificate:
        nodes = certificate["nodes_sha256"]
        print(f"{nodes}  nodes/{nodes}.parquet")
print(len(certificates), "certificates checked, last digest", digest, file=sys.stderr)
"""

COMMANDS = "python3 check.py > checksums.txt && sha256sum --check --quiet checksums.txt"
