# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables in pages, between the two marks that each has there."""


def put(path, begin, end, text):
    """Replaces what stands between the marks, each on a line of its own. Without them the page stays as it is."""
    with open(path) as file:
        page = file.read()
    before, mark, rest = page.partition(begin)
    _, other, after = rest.partition(end)
    if not mark or not other:
        raise SystemExit(f"{path}: no marks {begin} and {end}")
    with open(path, "w") as file:
        file.write(f"{before}{begin}\n{text.strip(chr(10))}\n{end}{after}")
