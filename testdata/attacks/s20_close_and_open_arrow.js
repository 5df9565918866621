// The same for an arrow wrapper. Syntax error.
return 1 })
;(async () => { globalThis.evil = 1
