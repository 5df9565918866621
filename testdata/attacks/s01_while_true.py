# The plainest endless loop. Ends at the time limit.
while True:
    pass
