# Objects until nothing is left. Memory.
a = []
while True:
    a.append([len(a)])
