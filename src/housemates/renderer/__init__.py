"""The software renderer: depth, colour and segmentation pictures of homes on a CPU."""

from housemates import parallel as parallel  # decides where compiled kernels are kept
