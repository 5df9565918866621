# A small graph with 2^40 leaves that is made into text. Memory, or refused.
a = ['x']
for i in range(40):
    a = [a, a]
return len(str(a))
