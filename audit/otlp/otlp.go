// Package otlp sends the entries of a record to an OpenTelemetry collector.
package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/internal/address"
)

// An Exporter sends entries as events to an OpenTelemetry collector, over HTTP in the protocol's JSON form. It is a
// copy for people to look at: it drops and counts entries that the collector does not accept, and delays nothing.
type Exporter struct {
	url     string
	headers map[string]string
	client  *http.Client
	log     *slog.Logger

	queue chan *audit.Entry
	done  chan struct{}
	stop  context.CancelFunc

	mu      sync.Mutex
	dropped int
	closed  bool
}

const (
	maxQueue  = 8192
	maxBatch  = 512
	sendEvery = time.Second
	sendWait  = 10 * time.Second
	// maxTries is how often to send a batch when the collector is overloaded.
	maxTries = 4
)

// New returns an Exporter that sends to the URL of a collector's logs, such as http://localhost:4318/v1/logs.
func New(url string, headers map[string]string, client *http.Client, log *slog.Logger) *Exporter {
	ctx, stop := context.WithCancel(context.Background())
	o := &Exporter{
		url: url, headers: headers, client: client, log: log, stop: stop,
		queue: make(chan *audit.Entry, maxQueue), done: make(chan struct{}),
	}
	go o.run(ctx)
	return o
}

// Emit queues an entry; it is for [audit.Options.Export].
func (o *Exporter) Emit(e *audit.Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	select {
	case o.queue <- e:
	default:
		o.dropped++
	}
}

// Close sends the remaining entries, until ctx ends.
func (o *Exporter) Close(ctx context.Context) {
	o.mu.Lock()
	first := !o.closed
	o.closed = true
	o.mu.Unlock()
	if first {
		close(o.queue)
	}
	defer context.AfterFunc(ctx, o.stop)()
	<-o.done
}

func (o *Exporter) run(ctx context.Context) {
	defer close(o.done)
	var batch []*audit.Entry
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	for {
		select {
		case e, open := <-o.queue:
			if !open {
				o.send(ctx, batch)
				return
			}
			if batch = append(batch, e); len(batch) < maxBatch {
				continue
			}
		case <-tick.C:
		}
		o.send(ctx, batch)
		batch = nil
	}
}

func (o *Exporter) send(ctx context.Context, batch []*audit.Entry) {
	o.mu.Lock()
	dropped := o.dropped
	o.dropped = 0
	o.mu.Unlock()
	if dropped > 0 {
		o.log.Warn("the collector is too slow for some entries; the record has them", "entries", dropped)
	}
	if len(batch) == 0 {
		return
	}
	body, err := json.Marshal(requestOf(batch, time.Now()))
	if err == nil {
		err = o.post(ctx, body)
	}
	if err != nil {
		o.log.Warn("sending entries to the collector failed; the record has them", "entries", len(batch), "error", err)
	}
}

func (o *Exporter) post(ctx context.Context, body []byte) error {
	for try := 1; ; try++ {
		again, err := o.postOnce(ctx, body)
		if err == nil || !again || try == maxTries {
			return err
		}
		select {
		case <-time.After(time.Duration(try) * time.Second):
		case <-ctx.Done():
			return err
		}
	}
}

func (o *Exporter) postOnce(ctx context.Context, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return false, address.Hide(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range o.headers {
		req.Header.Set(name, value)
	}
	res, err := o.client.Do(req)
	if err != nil {
		return true, address.Hide(err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // lets the connection be used again
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s answered %d %s", address.Origin(o.url), res.StatusCode, http.StatusText(res.StatusCode))
	}
	return again, err
}

// The request of the protocol, with the fields used here.
type (
	logs struct {
		ResourceLogs []resource `json:"resourceLogs"`
	}
	resource struct {
		Resource  attributes `json:"resource"`
		ScopeLogs []scope    `json:"scopeLogs"`
	}
	attributes struct {
		Attributes []attribute `json:"attributes"`
	}
	scope struct {
		Scope      name     `json:"scope"`
		LogRecords []record `json:"logRecords"`
	}
	name struct {
		Name string `json:"name"`
	}
	record struct {
		Time       string      `json:"timeUnixNano"`
		Observed   string      `json:"observedTimeUnixNano"`
		Severity   int         `json:"severityNumber"`
		Text       string      `json:"severityText"`
		EventName  string      `json:"eventName"`
		Body       value       `json:"body"`
		Attributes []attribute `json:"attributes"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string  `json:"stringValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"` // 64 bits are text in the JSON form
		Double *float64 `json:"doubleValue,omitempty"`
	}
)

func textOf(key, s string) attribute { return attribute{key, value{String: &s}} }

func requestOf(batch []*audit.Entry, now time.Time) logs {
	records := make([]record, len(batch))
	for i, e := range batch {
		line := string(e.Line())
		r := record{
			Time: strconv.FormatInt(e.Time.UnixNano(), 10), Observed: strconv.FormatInt(now.UnixNano(), 10),
			Severity: 9, Text: "INFO", EventName: "codemode." + e.Kind, Body: value{String: &line},
		}
		if e.State == audit.Refused || e.State == audit.Failed || e.State == audit.Unknown {
			r.Severity, r.Text = 13, "WARN"
		}
		for _, a := range []struct{ key, value string }{
			{"codemode.state", e.State}, {"codemode.run", e.Run}, {"codemode.profile", e.Profile},
			{"codemode.verdict", e.Verdict},
			{"codemode.risk", e.Risk}, {"codemode.reason", e.Reason}, {"gen_ai.tool.name", e.Tool}, {"enduser.id", e.Principal},
			{"codemode.client", e.Client},
		} {
			if a.value != "" {
				r.Attributes = append(r.Attributes, textOf(a.key, a.value))
			}
		}
		if e.DecidedBy != nil {
			r.Attributes = append(r.Attributes, textOf("codemode.decided_by", e.DecidedBy.How))
		}
		for _, n := range []struct {
			key   string
			value int64
		}{{"codemode.chain", e.Chain}, {"codemode.seq", e.Seq}, {"codemode.call", int64(e.Call)}} {
			if text := strconv.FormatInt(n.value, 10); n.value != 0 {
				r.Attributes = append(r.Attributes, attribute{n.key, value{Int: &text}})
			}
		}
		if e.MS != 0 {
			r.Attributes = append(r.Attributes, attribute{"codemode.duration_ms", value{Double: &e.MS}})
		}
		records[i] = r
	}
	return logs{[]resource{{
		Resource:  attributes{[]attribute{textOf("service.name", "codemode")}},
		ScopeLogs: []scope{{Scope: name{"github.com/codemode-project/codemode/audit"}, LogRecords: records}},
	}}}
}
