# The module of the operating system. Nothing loads, or what loads can do nothing: error.
import os
return os.listdir('/')
