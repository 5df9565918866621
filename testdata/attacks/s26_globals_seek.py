# Nothing of what the run before planted is here. Value.
seen = []
try:
    seen.append(planted)
except NameError:
    pass
try:
    seen.append(planted_builtin)
except NameError:
    pass
if len([1, 2]) != 2:
    seen.append('len')
return seen
