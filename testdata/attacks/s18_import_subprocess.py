# The module that starts processes. Nothing loads: error.
import subprocess
return subprocess.check_output(['id']).decode()
