package auditcmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/report"
	"github.com/codemode-project/codemode/internal/visible"
)

// entryLine writes an entry in one line.
func entryLine(e *audit.Entry) string {
	parts := []string{e.Time.Local().Format("2006-01-02 15:04:05.000"), fmt.Sprintf("%-8s %-8s", e.Kind, e.State)}
	if e.Run != "" {
		run := e.Run
		if e.Call != 0 {
			run += fmt.Sprintf("#%d", e.Call)
		}
		parts = append(parts, run)
	}
	if e.Tool != "" {
		parts = append(parts, e.Tool)
	}
	if e.Count > 0 {
		parts = append(parts, fmt.Sprintf("%d times", e.Count))
	}
	by := call.DecidedBy{}
	if e.DecidedBy != nil {
		by = *e.DecidedBy
	}
	for _, w := range []struct{ name, value string }{
		{"profile", e.Profile}, {"by", howText(e)}, {"who", by.Principal}, {"scope", by.Scope}, {"grant", by.Grant},
		{"rule", ruleText(e)}, {"reason", e.Reason}, {"principal", e.Principal}, {"client", e.Client},
	} {
		if w.value != "" {
			parts = append(parts, w.name+"="+quoted(w.value))
		}
	}
	if e.MS > 0 {
		parts = append(parts, fmt.Sprintf("%.1fms", e.MS))
	}
	if e.Kind != audit.Run && e.Kind != audit.Call && e.Detail != "" {
		parts = append(parts, quoted(e.Detail))
	}
	return visible.Line(strings.Join(parts, "  "))
}

// quoted quotes a value that has spaces, quotation marks or "=".
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\r\n\"=") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// decidedText names the decider; for a person also who it was and with which scope.
func decidedText(e *audit.Entry) string {
	text, by := howText(e), e.DecidedBy
	if text == "" {
		return ""
	}
	if by.Principal != "" {
		text += " (" + by.Principal + ")"
	}
	if by.Proof != "" {
		text += " with a new " + by.Proof
	}
	if by.Scope != "" {
		text += ", scope " + by.Scope
	}
	if by.Grant != "" {
		text += ", grant " + by.Grant
	}
	return text
}

func howText(e *audit.Entry) string {
	if e.DecidedBy == nil {
		return ""
	}
	text := e.DecidedBy.How
	if e.DecidedBy.Channel != "" {
		text += "/" + e.DecidedBy.Channel
	}
	return text
}

func ruleText(e *audit.Entry) string {
	if len(e.Rules) == 0 {
		return ""
	}
	r := e.Rules[0]
	if r.At == "" {
		return r.ID
	}
	return strings.TrimSpace(r.ID + " (" + r.At + ")")
}

// runText writes one run from its entries.
func runText(entries []*audit.Entry) string {
	var b strings.Builder
	calls := map[int][]*audit.Entry{}
	var about []*audit.Entry
	for _, e := range entries {
		if e.Call != 0 {
			calls[e.Call] = append(calls[e.Call], e)
		} else {
			about = append(about, e)
		}
	}
	first := entries[0]
	visible.Fprintf(&b, "run %s\n", first.Run)
	line := func(name, value string) {
		if value != "" {
			visible.Fprintf(&b, "  %-10s %s\n", name, value)
		}
	}
	line("when", first.Time.Local().Format("2006-01-02 15:04:05.000 MST"))
	line("for", first.Principal)
	line("through", first.Client)
	line("session", first.Session)
	line("script", first.Script)
	line("profile", strings.TrimSpace(first.Profile+"  "+first.ProfileDigest))
	for _, e := range slices.Backward(about) {
		if e.Program != nil {
			line("program", fmt.Sprintf("%s, %d bytes, %s", e.Program.Name, e.Program.Bytes, e.Program.Digest))
			source(&b, e.Program.Text)
			line("not kept", leanText(e))
			break
		}
	}
	for _, n := range slices.Sorted(maps.Keys(calls)) {
		recordedCall(&b, n, calls[n])
	}
	b.WriteString("\n")
	for _, e := range about {
		if e.State == audit.Running {
			continue
		}
		text := e.State
		if e.Count > 0 {
			text += fmt.Sprintf(", %d calls without their own entries", e.Count)
		}
		if e.Reason != "" && e.Reason != e.State {
			text += ", " + e.Reason
		}
		if e.MS > 0 {
			text += fmt.Sprintf(", after %.1f ms", e.MS)
		}
		line(e.Kind, text)
		if e.Detail != "" {
			visible.Fprintf(&b, "      %s\n", e.Detail)
		}
		line("left", leftText(e))
		if e.Result != nil {
			line("value", resultText(e.Result))
		}
	}
	if last := about; len(last) == 0 || !slices.ContainsFunc(last,
		func(e *audit.Entry) bool { return e.Kind == audit.Run && e.State != audit.Running }) {
		line("run", "not ended yet, or not recorded to its end")
	}
	return b.String()
}

// leftText says what a run left in its session; "" if it had none.
func leftText(e *audit.Entry) string {
	var data struct {
		Session *struct {
			Name    string
			Version int64
		}
	}
	switch err := json.Unmarshal(e.Data, &data); {
	case e.Kind != audit.Run || err != nil || data.Session == nil:
		return ""
	case data.Session.Version == 0:
		return fmt.Sprintf("the session %s, as it was before", data.Session.Name)
	}
	return fmt.Sprintf("the session %s, version %d", data.Session.Name, data.Session.Version)
}

func recordedCall(b *strings.Builder, n int, entries []*audit.Entry) {
	line := func(name, value string) {
		if value != "" {
			visible.Fprintf(b, "      %-10s %s\n", name, value)
		}
	}
	visible.Fprintf(b, "\n  call %d  %s\n", n, entries[0].Tool)
	start := entries[0].Time
	said := map[string]bool{}
	for _, e := range entries {
		if args := argumentsText(e.Args); args != "" && !said[args] {
			name := "arguments"
			if len(said) > 0 {
				name = "changed to"
			}
			said[args] = true
			line(name, args)
		}
		if e.Args != nil && (e.Args.Executed != "" && e.Args.Executed != e.Args.Proposed) {
			line("edited", "a person allowed this instead of what the program proposed")
		}
		text := e.State
		switch {
		case e.Kind == audit.Approval:
			text = "answer: " + e.State
		case e.State == audit.Pending:
			text = "a person was asked"
		case e.State == audit.Running:
			text = "sent"
		case e.State == audit.Unknown:
			text = "unknown: nobody can say whether it happened"
		case e.State == audit.NotSent:
			text = "not sent after all"
		}
		if decides := e.State == audit.Pending || e.State == audit.Running || e.State == audit.Refused ||
			e.Kind == audit.Approval; decides {
			if by := decidedText(e); by != "" {
				text += ", decided by " + by
			}
			if rule := ruleText(e); rule != "" {
				text += ", rule " + rule
			}
		}
		if e.DecidedBy != nil && e.DecidedBy.LatencyMS > 0 && e.Kind == audit.Approval {
			text += fmt.Sprintf(", after %.1f s", float64(e.DecidedBy.LatencyMS)/1000)
		}
		if e.Count > 0 {
			text += fmt.Sprintf(", and %d more like it", e.Count)
		}
		if e.Reason != "" && e.Reason != e.State {
			text += ", " + e.Reason
		}
		if e.MS > 0 {
			text += fmt.Sprintf(", %.1f ms", e.MS)
		}
		line(fmt.Sprintf("+%.3fs", e.Time.Sub(start).Seconds()), text)
		if e.Detail != "" {
			visible.Fprintf(b, "      %-10s %s\n", "", e.Detail)
		}
		if e.Result != nil {
			line("result", resultText(e.Result))
		}
		line("not kept", leanText(e))
	}
}

// leanText says why an entry has digests of values and not what is in them; "" if it has the values.
func leanText(e *audit.Entry) string {
	if !e.Lean {
		return ""
	}
	return "digests only, because more than half of the caller's share of the record was used up (store.share)"
}

// argumentsText is the arguments as the entry shows them, or how large they are; "" if there are none.
func argumentsText(a *call.EntryArgs) string {
	switch {
	case a == nil:
		return ""
	case a.Redacted == nil && a.Bytes > 0:
		return fmt.Sprintf("%d bytes, %s", a.Bytes, cmp.Or(a.Executed, a.Authorised, a.Proposed))
	}
	return string(a.Redacted)
}

func resultText(r *call.EntryResult) string {
	if r.Redacted == nil {
		return fmt.Sprintf("%d bytes, %s", r.Bytes, r.Digest)
	}
	return string(r.Redacted)
}

// source writes a program. The margin distinguishes its lines from ours.
func source(b *strings.Builder, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		b.WriteString("      | " + visible.Text(line) + "\n")
	}
}

func summaryText(s *report.Summary) string {
	var b strings.Builder
	visible.Fprintf(&b, "%d entries, %d runs\n", s.Entries, s.Runs)
	counts := func(title string, m map[string]int) {
		if len(m) == 0 {
			return
		}
		visible.Fprintf(&b, "\n%s\n", title)
		for _, k := range slices.SortedFunc(maps.Keys(m), func(x, y string) int { return m[y] - m[x] }) {
			visible.Fprintf(&b, "  %6d  %s\n", m[k], k)
		}
	}
	counts("calls by how they ended", s.Calls)
	counts("refused calls by reason", s.Refused)
	counts("questions of programs (ask_user) by how they ended", s.Questions)
	counts("plans of programs that people were asked about before the run, by how that ended", s.Plans)
	savingsText(&b, s.Savings)
	if len(s.Rules) == 0 {
		return b.String()
	}
	b.WriteString("\nrules that asked\n    asks  approved  refused  unanswered  median s  rule\n")
	for _, f := range s.Rules {
		name := cmp.Or(f.Rule, "(no rule)")
		mark := ""
		if f.AlwaysYes {
			mark = fmt.Sprintf("  <- approved %d of %d times: a rule that allows it would decide the same", f.Approved, f.Asks)
		}
		visible.Fprintf(&b, "  %6d  %8d  %7d  %10d  %8.1f  %s (profile %s, %s)%s\n",
			f.Asks, f.Approved, f.Refused, f.Unanswered, f.MedianSeconds, name, f.Profile, f.At, mark)
	}
	return b.String()
}

// savingsText compares programs with the same calls made one at a time.
func savingsText(b *strings.Builder, s *report.Savings) {
	if s.Programs == 0 {
		return
	}
	visible.Fprintf(b, "\nprograms against the same calls one at a time, in approximate tokens, no list of tools\n")
	visible.Fprintf(b, "  tool calls  arguments   results\n")
	visible.Fprintf(b, "  %10d  %9d  %8d  one at a time\n", s.Calls, s.CallArguments, s.CallResults)
	visible.Fprintf(b, "  %10d  %9d  %8d  in programs\n", s.Programs, s.ProgramTexts, s.ProgramResults)
	visible.Fprintf(b, "  %d tokens saved\n", s.Saved())
}
