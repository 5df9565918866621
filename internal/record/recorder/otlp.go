package recorder

import (
	"log/slog"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/otlp"
)

// A logRecord is an entry as an event of OpenTelemetry.
type logRecord struct {
	Time       otlp.Int         `json:"timeUnixNano"`
	Observed   otlp.Int         `json:"observedTimeUnixNano"`
	Severity   int              `json:"severityNumber"`
	Text       string           `json:"severityText"`
	EventName  string           `json:"eventName"`
	Body       otlp.Value       `json:"body"`
	Attributes []otlp.Attribute `json:"attributes"`
}

// newExport makes what sends the entries of the record as events to a collector. It is a copy for people to look at.
func newExport(to otlp.Collector, log *slog.Logger) *otlp.Sender[*audit.Entry] {
	return otlp.NewSender(to, "entries of the record", func(batch []*audit.Entry) any {
		records, now := make([]logRecord, len(batch)), time.Now()
		for i, e := range batch {
			records[i] = logOf(e, now)
		}
		return otlp.Request("Logs", "logRecords", "/audit", "", records)
	}, log)
}

func logOf(e *audit.Entry, now time.Time) logRecord {
	line := string(e.Line())
	r := logRecord{Time: otlp.Int(e.Time.UnixNano()), Observed: otlp.Int(now.UnixNano()), Severity: 9, Text: "INFO",
		EventName: "codemode." + e.Kind, Body: otlp.Value{String: &line}}
	if e.State == audit.Refused || e.State == audit.Failed || e.State == audit.Unknown {
		r.Severity, r.Text = 13, "WARN"
	}
	by := ""
	if e.DecidedBy != nil {
		by = e.DecidedBy.How
	}
	for _, a := range []struct{ key, value string }{
		{"codemode.state", e.State}, {"codemode.run", e.Run}, {"codemode.profile", e.Profile},
		{"codemode.verdict", e.Verdict}, {"codemode.risk", e.Risk}, {"codemode.reason", e.Reason},
		{"gen_ai.tool.name", e.Tool}, {"enduser.id", e.Principal}, {"codemode.client", e.Client}, {"codemode.decided_by", by},
	} {
		if a.value != "" {
			r.Attributes = append(r.Attributes, otlp.Text(a.key, a.value))
		}
	}
	for _, n := range []struct {
		key   string
		value int64
	}{{"codemode.chain", e.Chain}, {"codemode.seq", e.Seq}, {"codemode.call", int64(e.Call)}} {
		if n.value != 0 {
			r.Attributes = append(r.Attributes, otlp.Whole(n.key, n.value))
		}
	}
	if ms := otlp.Double(e.MS); ms != 0 {
		r.Attributes = append(r.Attributes, otlp.Attribute{Key: "codemode.duration_ms", Value: otlp.Value{Double: &ms}})
	}
	return r
}
