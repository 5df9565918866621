package prompt

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// Summary shows r in one line, for lists: the name of the tool and the flattened arguments.
func Summary(r *Request) string {
	p := &printer{limits: limits{text: summaryText, items: inlineItems, depth: 1}, masker: newMasker(r.Display, false),
		oneLine: true}
	if r.Kind() == "account" {
		return "connect the account of " + Words(r.Principal) + " at " + Words(r.Server)
	}
	if r.Inquiry != nil {
		p.limits.text = inquirySummary
		p.put("a program asks ")
		p.text(characters(r.Inquiry.Question), nil)
		return p.b.String()
	}
	if r.Ahead {
		p.put("plan of the program " + shortDigest(r.Definition) + ": " + (&Grant{Lines: r.Plan}).planned())
		return p.b.String()
	}
	p.put(Heading(r))
	v, err := parseArgs(r.Args)
	if err != nil || v.Kind() != strictjson.Object || v.Len() == 0 {
		p.arguments(r.Args, 0)
		return p.b.String()
	}
	p.put(" ")
	p.inline(p.flat(v), summaryLeaves, p.column+summaryWidth)
	return p.b.String()
}

// inquirySummary is how much of a program's question a summary shows, in characters.
const inquirySummary = 100

// Shown returns arguments in one line, safe to show and log: it masks secrets, cuts long texts, arrays and objects, and
// escapes the rest. Never log the raw arguments.
func Shown(args json.RawMessage, d Display) string {
	p := &printer{limits: limits{text: narrow(oneLineText, d.String), items: narrow(oneLineItems, d.Items),
		depth: narrow(oneLineDepth, d.Depth)}}
	p.masker, p.oneLine, p.width = newMasker(d, false), true, math.MaxInt32
	if len(args) == 0 {
		return "none"
	}
	v, err := parseArgs(args)
	if err != nil {
		return fmt.Sprintf("(not strict JSON, %d bytes)", len(args))
	}
	p.value(v, p.masker.Root(), 0, 0)
	return p.b.String()
}

// The limits of Shown, unless a Display sets lower ones.
const oneLineText, oneLineItems, oneLineDepth = 120, 12, 4

// How much of a call a row of a list shows, and a summary.
const (
	rowText, rowLeaves, rowWidth             = 80, 12, 240
	summaryText, summaryLeaves, summaryWidth = 40, 6, 120
	inlineItems                              = 6
)

// Rows returns a line for each of calls that are shown together: its number and code, and how it differs from similar
// ones. A row that is cut ends in a digest, so that different calls have different rows. whole says that they are all
// that there is to say about how similar calls differ: then a View beside them needs no Rows of its own.
func Rows(calls []*Request) (rows []string, whole bool) {
	rows, whole = make([]string, len(calls)), true
	which := numbered(calls)
	for _, block := range blocks(calls) {
		those := of(calls, block)
		masks, shown := newMasker(those[0].Display, false), limits{text: rowText, items: inlineItems, depth: 1}
		var rest [][]leaf
		if len(block) > 1 {
			_, rest, _ = (&printer{limits: shown, masker: masks}).common(those)
		}
		for at, i := range block {
			p := &printer{limits: shown, masker: masks, oneLine: true}
			p.put(which.row(calls, i))
			switch {
			case rest == nil:
				p.put(Summary(calls[i]))
			case len(rest[at]) == 0:
				p.put("the same as others")
			default:
				p.inline(rest[at], rowLeaves, rowWidth)
			}
			if p.cut {
				p.put(fmt.Sprintf(" (sha256 %x)", digest(calls[i].Args)[:4]))
			}
			rows[i], whole = p.b.String(), whole && !p.cut && len(calls[i].Sources) == 0
		}
	}
	return rows, whole
}
