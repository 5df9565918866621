# An iterator without an end, read by for. Ends at the time limit.
n = 0
for x in iter(int, 1):
    n = n + 1
return n
