# The text leaves the function that a wrapper puts around it. Syntax error.
    return 1
import os
os._exit(3)
