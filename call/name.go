package call

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/codemode-project/codemode/internal/visible"
)

// Separator parts the server from the tool in a canonical name. No server's part of a name may contain it.
const Separator = "__"

// Name is the canonical name of the tool that the server spells raw: <server>__<tool>. It is the key of a tool in
// rules, in accepted definitions, in grants and in the record. If another tool of the server has the same Name, the
// canonical names differ in a suffix, see [Names].
func Name(server, raw string) string { return Part(server) + Separator + Part(raw) }

// Part is one part of a canonical name: s in NFC, with an underscore for each character that cannot stand inside a
// JavaScript identifier, and for each one that a person cannot see. Part(Part(s)) is Part(s).
func Part(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return strings.Map(part, norm.NFC.String(strings.ToValidUTF8(s, "_"))) // NFC keeps what follows an invalid byte
		}
	}
	return strings.Map(part, s)
}

func part(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '$':
		return r
	case r < 0x80, !unicode.In(r, identifier...), !visible.Rune(r):
		return '_'
	}
	return r
}

// identifier is ID_Continue of Unicode, which includes ID_Start.
var identifier = []*unicode.RangeTable{unicode.L, unicode.Nl, unicode.Other_ID_Start,
	unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue}

// Names are the canonical names of all tools that one server lists, in the order of raws. They depend on the set of
// raws alone, and not on its order, and different raws have different names:
//
//   - A tool whose raw name is its Part keeps it. So no raw name is the canonical name of another tool.
//   - A tool with a Name that no other tool has gets that name.
//   - Any other tool gets its Name with "_" and 8 hexadecimal digits, made from the raw name.
//
// twins reports the tools whose Name several tools have.
func Names(server string, raws []string) (names []string, twins []bool) {
	sharing := map[string]int{} // by Name
	byRaw := make(map[string]string, len(raws))
	for _, raw := range raws {
		if byRaw[raw] == "" {
			byRaw[raw] = Name(server, raw)
			sharing[byRaw[raw]]++
		}
	}
	var waiting []string
	for raw, name := range byRaw {
		if sharing[name] > 1 && Part(raw) != raw {
			waiting = append(waiting, raw)
		}
	}
	suffix(byRaw, waiting, sharing)
	for _, raw := range raws {
		names = append(names, byRaw[raw])
		twins = append(twins, sharing[Name(server, raw)] > 1)
	}
	return names, twins
}

// suffix adds suffixes to the names of the raws that wait for one. It goes in rounds, so that the order does not
// matter: who wants a name that is taken, or that another one wants too, gets another suffix in the next round.
func suffix(byRaw map[string]string, waiting []string, taken map[string]int) {
	used := map[string]bool{}
	for round := 0; len(waiting) > 0; round++ {
		wanted, by := map[string]int{}, map[string]string{}
		for _, raw := range waiting {
			sum := sha256.Sum256([]byte(strconv.Itoa(round) + " " + raw))
			by[raw] = byRaw[raw] + "_" + hex.EncodeToString(sum[:4])
			wanted[by[raw]]++
		}
		var left []string
		for _, raw := range waiting {
			if wanted[by[raw]] > 1 || taken[by[raw]] > 0 || used[by[raw]] {
				left = append(left, raw)
			}
		}
		for _, raw := range left {
			delete(by, raw)
		}
		for raw, name := range by {
			byRaw[raw] = name
			used[name] = true
		}
		waiting = left
	}
}
