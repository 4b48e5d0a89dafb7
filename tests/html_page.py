"""Report pages, taken apart for tests."""

import base64
import json
from html.parser import HTMLParser

import numpy as np


class Page(HTMLParser):
    """Tags, attributes and text of a page, as a browser sees them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts, self._open = [], [], {}, []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        self.texts.setdefault(self._open[-1] if self._open else "", []).append(data)

    def data(self):
        return json.loads(self.texts["script"][0])

    def cells(self):
        return [text.strip() for text in self.texts.get("td", [])]


def decode(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype=dtype)
