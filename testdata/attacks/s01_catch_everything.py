# Every exception is caught and the loop starts again: the stop must not be catchable. Ends at the time limit.
while True:
    try:
        while True:
            pass
    except BaseException:
        continue
    finally:
        pass
