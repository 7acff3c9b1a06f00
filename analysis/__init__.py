"""What is learnt from a campaign: figures, captions and the report.

This room reads collated datasets and writes pictures and a page; it simulates nothing and evaluates no claim. A dataset
describes itself (dims, units, the experiment's ``figure`` block, provenance), so nothing here needs to know how it was
made, and a dataset copied to another machine can be drawn there.
"""

import os

# All is drawn to files. Matplotlib is not even imported where the environment names a backend that it does not know.
os.environ["MPLBACKEND"] = "agg"
# No figure has a date. Matplotlib asks for one nevertheless, and fails where the environment has none to give.
os.environ.pop("SOURCE_DATE_EPOCH", None)
