"""The words of a text, and the sequences of characters in them: terms, each of which is hashed into a column of X.

Words are in lower case. The sequences of NGRAM characters, with marks at both ends of a word, make words of one stem similar. All
those of a word together count less than the word itself.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Iterator

NGRAM, NGRAMS_COUNT = 3, 0.3  # characters; the length of the vector of a word's sequences, where that of the word is 1
LONGEST = 4000  # characters of a text that are read
CACHED = 1 << 16  # hashes

_WORD = re.compile(r"\w+|[^\w\s]+")


def words(text: str) -> list[str]:
    """The words and the signs between them, in lower case."""
    return _WORD.findall(text[:LONGEST].lower())


def terms(text: str) -> Iterator[tuple[str, float]]:
    """What a text is described by, and how much each term counts."""
    for word in words(text):
        yield word, 1.0
        if len(word) > NGRAM:
            marked = f"<{word}>"
            sequences = [marked[k : k + NGRAM] for k in range(len(marked) - NGRAM + 1)]
            yield from ((sequence, NGRAMS_COUNT / math.sqrt(len(sequences))) for sequence in sequences)


@functools.lru_cache(maxsize=CACHED)
def hashed(term: str) -> int:
    """64 bits; the same in every process."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "big")
