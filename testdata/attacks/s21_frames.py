# The frames behind an exception and behind a generator lead to the host. Value.
try:
    try:
        1 // 0
    except ZeroDivisionError as e:
        f = e.__traceback__.tb_frame
        while f is not None:
            if 'open' in f.f_builtins:
                f.f_builtins['open']('/etc/passwd').close()
                return 'out'
            f = f.f_back
except Exception:
    pass
return 'contained'
