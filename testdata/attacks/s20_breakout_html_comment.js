// Closes the wrapper and opens a comment of HTML for its last brace. Refused.
<!-- }
}; globalThis.out = 1; if (1) {
