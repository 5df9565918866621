# An error that says there is no memory. It is an error and nothing else.
raise MemoryError('memory')
