package profiles

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/profiles/match"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Decide says what may happen to a call, and why. It is a pure function of the profile and
// the call: no clock, no memory, no network.
func (p *Profile) Decide(c Call) call.Decision {
	d := p.decide(&view{call: c})
	d.Profile, d.Digest = p.name, p.digest
	if d.Verdict == call.Ask {
		d.Timeout, d.Asking = p.ask.Timeout, p.asking()
		bound(&d)
		d.Fallback = p.fallback && !d.Firm && !d.Risk.Grave()
	}
	return d
}

// asking describes who may answer, how, and what they do not see. How long they have makes no difference to an answer.
func (t *terms) asking() string {
	ask := t.ask
	edit := ask.Edit != nil && *ask.Edit
	return fmt.Sprintf("%q %t %v %t %t %+v", ask.Channels, ask.Channels == nil, ask.MinHuman, ask.OtherOnly, edit, t.redact)
}

func (p *Profile) decide(v *view) call.Decision {
	if bad := p.prepare(v); bad != "" {
		reason := call.Reason{List: "arguments", Pos: p.pos, Result: "true", Text: bad, Profile: p.name}
		return call.Decision{Code: call.CodeBadArguments, Reasons: []call.Reason{reason}}
	}
	var space, layerSpace [16]judgement
	own := p.judge(v, space[:0])
	d := p.decision(v, &own)
	for _, l := range p.layers {
		if l.applies(v) {
			u := l.judge(v, layerSpace[:0])
			d = stricter(d, l.decision(v, &u))
		}
	}
	return p.tighten(v, d)
}

// Believes reports whether allow rules may rely on the annotations of the call's tool.
func (p *Profile) Believes(c Call) bool { return p.trusted[c.Server] || c.Believed }

// maxArguments is the limit of a call's argument bytes if the file sets none.
const maxArguments = 1 << 20

// prepare parses the arguments once. It refuses arguments that two parsers could read differently; the result says why.
func (p *Profile) prepare(v *view) (bad string) {
	c := &v.call
	v.trusted = p.Believes(*c)
	canonical := c.Name
	if canonical == "" {
		canonical = call.Name(c.Server, c.Tool)
	}
	raw := canonical
	if !isJoined(canonical, c.Server, c.Tool) && c.Server+c.Tool != "" {
		raw = c.Server + call.Separator + c.Tool
	}
	v.names = newNames(canonical, raw)
	most := least(cmp.Or(p.limits.ArgumentBytes, maxArguments), p.caps.ArgumentBytes)
	if len(c.Args.JSON()) > most {
		return fmt.Sprintf("the arguments are longer than %d bytes", most)
	}
	root, err := c.Args.Tree()
	if err != nil {
		return "the arguments cannot be judged: " + err.Message
	}
	if kind := root.Kind(); kind != strictjson.Object {
		return "the arguments cannot be judged: they are " + kind.String() + ", not an object"
	}
	v.args = &match.Arguments{Root: root}
	return ""
}

// isJoined reports whether name is server__tool, without building that text.
func isJoined(name, server, tool string) bool {
	return len(name) == len(server)+2+len(tool) && strings.HasPrefix(name, server) &&
		name[len(server):len(server)+2] == "__" && strings.HasSuffix(name, tool)
}
