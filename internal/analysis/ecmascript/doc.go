// Package ecmascript reads lowered ECMAScript: tokens, syntax tree, scopes.
//
// It reads what esbuild prints, which is valid and regular, to find out what a
// program refers to. So [Parse] accepts much that is not ECMAScript, and a
// [Node] tells apart only what its readers ask about. The [Lexer] reads any text,
// TypeScript too, and never fails.
package ecmascript
