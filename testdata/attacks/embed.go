// Package attacks holds the programs of the attack suite and their manifest;
// README.md says what they are.
package attacks

import "embed"

// Files holds attacks.json and the programs it lists.
//
//go:embed attacks.json *.js
var Files embed.FS
