// The text closes a function and opens another: balanced for a plain wrapper. Syntax error.
return 1;
}
globalThis.evil = 1;
async function g() {
