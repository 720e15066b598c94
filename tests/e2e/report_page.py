# SPDX-License-Identifier: GPL-3.0-or-later
"""A report as a reader that is not ours sees it: Python's parser of HTML."""
import base64
import hashlib
import html.parser
import re

# Elements that have no end.
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(html.parser.HTMLParser):
    """tags: (name, attributes, path of names above); texts: by id of the nearest element that has one; wrong: what is
    not as HTML wants it."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.text, self.tags, self.wrong, self.stack, self.texts = text, [], [], [], {}
        self.feed(text)
        self.close()
        self.wrong += [f"<{name}> is never closed" for name, _ in self.stack]
        self.ids = [attributes["id"] for _, attributes, _ in self.tags if "id" in attributes]

    def handle_starttag(self, name, attributes):
        names = [key for key, _ in attributes]
        if len(set(names)) != len(names):
            self.wrong.append(f"<{name}> has an attribute twice: {names}")
        values = dict(attributes)
        self.tags.append((name, values, [above for above, _ in self.stack]))
        if name not in VOID:
            self.stack.append((name, values.get("id")))

    def handle_endtag(self, name):
        if not self.stack or self.stack[-1][0] != name:
            self.wrong.append(f"</{name}> ends {self.stack[-1:]} in line {self.getpos()[0]}")
        while self.stack and self.stack.pop()[0] != name:
            pass

    def handle_data(self, data):
        holders = [identity for _, identity in self.stack if identity] or [self.stack[-1][0] if self.stack else ""]
        for holder in holders:
            self.texts[holder] = self.texts.get(holder, "") + data
        if self.stack and self.stack[-1][0] in ("title", "style", "script"):
            self.texts[self.stack[-1][0]] = data

    def named(self, name):
        return [(attributes, above) for one, attributes, above in self.tags if one == name]


def policy_hash(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def faults_of(page):
    """What is wrong with a page of any run, as sentences."""
    wrong = list(page.wrong)
    counts = {name: len(page.named(name)) for name in ("html", "head", "body", "main", "header", "nav", "footer", "h1", "title", "style", "script")}
    wrong += [f"{count} <{name}>" for name, count in counts.items() if count != 1]
    wrong += [f"the id {name} twice" for name in set(page.ids) if page.ids.count(name) > 1]
    for name, attributes, above in page.tags:
        wrong += [f"<{name} {key}>" for key in attributes if key.startswith("on") or key == "style"]
        wrong += [f"<{name}> loads {attributes['src']}" for _ in [0] if "src" in attributes]
        target = attributes.get("href", "#")
        if not (target.startswith("data:") if name == "link" else target == "#" or target[1:] in page.ids and target[0] == "#"):
            wrong.append(f"<{name}> leads to {target}")
        if name in ("img", "iframe", "object", "embed", "form", "base", "svg"):
            wrong.append(f"<{name}> in {above}")
        if name == "th" and attributes.get("scope") not in ("row", "col"):
            wrong.append("a <th> without scope")
        for reference in ("aria-labelledby", "aria-describedby"):
            if reference in attributes and attributes[reference] not in page.ids:
                wrong.append(f"{reference}={attributes[reference]}")
    levels = [int(name[1]) for name, _, _ in page.tags if re.fullmatch("h[1-6]", name)]
    wrong += [f"a heading of level {b} below {a}" for a, b in zip(levels, levels[1:]) if b > a + 1]
    policy = next((attributes["content"] for attributes, _ in page.named("meta")
                   if attributes.get("http-equiv") == "Content-Security-Policy"), "")
    for part in ("default-src 'none'", f"script-src {policy_hash(page.texts['script'])};", f"style-src {policy_hash(page.texts['style'])};",
                 "base-uri 'none'", "form-action 'none'"):
        if part not in policy:
            wrong.append(f"the policy {policy!r} lacks {part}")
    if "http:" in page.text or "https:" in page.text:
        if re.sub(r"http://www\.w3\.org/2000/svg", "", page.text).find("://") >= 0 and re.search(r"(src|href|url)\s*[=(]\s*.?https?:", page.text):
            wrong.append("an address of the network")
    return wrong
