# An error that says it timed out. It is an error and nothing else.
raise TimeoutError('timed out: the limit of time was reached')
