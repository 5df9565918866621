package call

import "strings"

// Separator parts the server from the tool in a canonical name. No server's part of a name may contain it.
const Separator = "__"

// Name is the canonical name of the tool that the server spells raw. Programs and rules use it: <server>__<tool>, with
// each character that cannot stand in a JavaScript name replaced by an underscore.
func Name(server, raw string) string { return Part(server) + Separator + Part(raw) }

// Part is one part of a canonical name.
func Part(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '$':
			return r
		}
		return '_'
	}, s)
}
