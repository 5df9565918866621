# Text with NUL, separators, quotes and letters beyond the first plane comes back the same. Value.
s = 'a\0b\u2028c\u2029"\\\n\U0001f600\ufeff'
r = await codemode.echo({s: s})
return r[s] == s
