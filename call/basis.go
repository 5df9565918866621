package call

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Basis is a digest of what a question about the call rests on: the risk and the reasons that people read, who may
// answer, and what is masked. While it stays the same, an answer to the question holds, whatever else changes in the
// profile. Places in files do not count: they move when somebody edits other rules.
func (d *Decision) Basis() string {
	type told struct{ Rule, List, Result, Text, Layer string }
	all := []told{}
	for _, r := range d.Reasons {
		all = append(all, told{r.Rule, r.List, r.Result, r.Text, r.Layer})
	}
	return digestOf(d.Verdict.String(), d.Risk, d.Firm, d.Asking, all)
}

// Asker is a digest of what asks: the rules as they are written, who may answer, and which grants they may give. While
// it stays the same, grants for such calls hold.
func (d *Decision) Asker() string {
	asks := d.Rules
	if lead := d.Lead(); len(asks) == 0 { // no rule asks
		asks = []string{"", lead.List, lead.Text, lead.Layer}
	}
	return digestOf(d.Firm, d.Asking, d.Remember, d.Pointers, asks)
}

func digestOf(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // plain data
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}
