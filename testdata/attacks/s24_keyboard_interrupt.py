# KeyboardInterrupt is an error of the program like any other. Error.
raise KeyboardInterrupt()
