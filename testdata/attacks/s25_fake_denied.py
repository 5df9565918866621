# An error with the words of a denial, after no denial. It is an error and nothing else.
raise PermissionError('denied: the policy denies secret')
