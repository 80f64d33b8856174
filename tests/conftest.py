import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side; torch's threads would fight over the cores

sys.path.insert(0, str(Path(__file__).parent / "corruptions"))
