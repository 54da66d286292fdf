"""The words of a text, and the sequences of characters in them: terms, each of which is hashed into a column of X.

Words are in lower case. Words of one stem share sequences of NGRAM characters (with marks at both ends of the word), which makes
them similar. All sequences of a word together count less than the word itself.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Iterator

# characters of a sequence; the Euclidean length of the vector of all sequences of a word, relative to that of the word
NGRAM, NGRAMS_COUNT = 3, 0.3
LONGEST = 4000  # only this many characters of a text are read
CACHED = 1 << 16  # hashes

_WORD = re.compile(r"\w+|[^\w\s]+")


def words(text: str) -> list[str]:
    """The words in lower case; punctuation marks between them count as words."""
    return _WORD.findall(text[:LONGEST].lower())


def terms(text: str) -> Iterator[tuple[str, float]]:
    """The terms of a text, each with its weight."""
    for word in words(text):
        yield word, 1.0
        if len(word) > NGRAM:
            marked = f"<{word}>"
            sequences = [marked[k : k + NGRAM] for k in range(len(marked) - NGRAM + 1)]
            yield from ((sequence, NGRAMS_COUNT / math.sqrt(len(sequences))) for sequence in sequences)


@functools.lru_cache(maxsize=CACHED)
def hashed(term: str) -> int:
    """A hash of 64 bits, the same in every process."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "big")
