# A file of the machine. There is no way to open it: error.
return open('/etc/passwd').read()
