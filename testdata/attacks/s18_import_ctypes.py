# The module that calls C. Nothing loads: error.
import ctypes
return ctypes.CDLL(None).getpid()
