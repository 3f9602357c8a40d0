"""Acting and PPO updates of small recurrent policies on a CPU, as numba kernels around one matrix product."""

from housemates import parallel as parallel  # decides where compiled kernels are kept
