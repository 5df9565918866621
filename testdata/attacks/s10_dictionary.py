# Keys that are all different. Memory.
d = {}
n = 0
while True:
    d['k' + str(n)] = n
    n = n + 1
