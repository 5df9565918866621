// Package attacks holds the programs of the attack suite, their manifest and the classes;
// README.md says what they are.
package attacks

import "embed"

// Files holds attacks.json, the programs it lists, and classes.json.
//
//go:embed attacks.json classes.json *.js *.py
var Files embed.FS
