# Two hundred thousand lists inside of one another are compared and made into text. An error, no crash.
a = []
b = []
for i in range(200000):
    a = [a]
    b = [b]
return a == b and len(repr(a)) > 0
