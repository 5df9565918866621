# Two hundred thousand lists inside of one another as the result. An error, no crash.
a = []
for i in range(200000):
    a = [a]
return a
