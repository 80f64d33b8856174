import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side; torch's threads would fight over the cores
