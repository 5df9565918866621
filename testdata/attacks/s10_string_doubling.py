# Text that doubles. Memory, or refused.
s = 'x'
while True:
    s = s + s
