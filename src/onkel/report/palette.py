"""The colours of all pictures and pages, each with one meaning.

They are the colours of Okabe & Ito (2008), which colour-blind readers can distinguish and whose lightness differs in grey.
`Light` is for a white page, `Dark` for a black one: the same names, the same meanings, and hues as near as the background allows.

PAPER     the background
INK       text, axes and the truth
MUTED     text beside the main thing: notes, ticks, single rows
GRID      lines of the grid
LEARNER   the learner that the picture is about, or Auto
MEAN      the baseline that predicts the mean of all earlier labels
LAST      the baseline that predicts the last label
OTHERS    other learners, in this order
BOUND     what a theorem allows
GOOD      inside, correct, below the bound
BAD       outside, wrong, a change of the stream
"""


class Light:
    PAPER = "#FFFFFF"
    INK = "#1A1A1A"
    MUTED = "#666666"
    GRID = "#E6E6E6"
    LEARNER = "#0072B2"
    MEAN = "#6E6E6E"
    LAST = "#A3A3A3"
    OTHERS = ("#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
    BOUND = "#000000"
    GOOD = "#009E73"
    BAD = "#D55E00"


class Dark:
    PAPER = "#14171A"
    INK = "#ECEDEE"
    MUTED = "#A0A6AC"
    GRID = "#2E3338"
    LEARNER = "#56B4E9"
    MEAN = "#9AA0A6"
    LAST = "#6B7177"
    OTHERS = ("#F0712C", "#1FBF92", "#DE9AC4", "#E69F00", "#F0E442")
    BOUND = "#FFFFFF"
    GOOD = "#1FBF92"
    BAD = "#F0712C"
