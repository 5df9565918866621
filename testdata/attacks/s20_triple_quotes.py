# Text that closes a string and the brackets of a wrapper is text. Value.
s = """)
globals()['out'] = 1
(("""
return [len(s) > 20, s.count('out')]
