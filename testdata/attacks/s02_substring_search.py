# A needle that nearly matches everywhere, again and again. Ends at the time limit.
a = 'a' * 1000000
b = 'a' * 500000 + 'b'
n = 0
while True:
    n = n + a.count(b)
