"""How the judge changes: Item → example → adapter → merged checkpoint."""

import logging

# bitsandbytes warns at import, on any CPU with AVX512-BF16, that an optional package for inference is not there.
logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
