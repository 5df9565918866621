// Package otlp sends what codemode tells of itself to collectors of OpenTelemetry: OTLP over HTTP, in its JSON form
// (opentelemetry.io/docs/specs/otlp).
package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/codemode-project/codemode/internal/secrets"
)

// A Collector takes OTLP at a URL with its path, such as http://localhost:4318/v1/traces.
type Collector struct {
	URL     string
	Headers map[string]string
	Client  *http.Client // nil is a client without settings
}

const (
	sendWait = 10 * time.Second
	// maxTries is how often to send a batch when the collector is overloaded or away.
	maxTries = 4
)

// Send sends a request, and again if the collector may take it later. The error has no secret of the address.
func (c *Collector) Send(ctx context.Context, request any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		again, err := c.post(ctx, body)
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

func (c *Collector) post(ctx context.Context, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return false, secrets.HideAddress(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range c.Headers {
		req.Header.Set(name, value)
	}
	client := c.Client
	if client == nil {
		client = &http.Client{}
	}
	res, err := client.Do(req)
	if err != nil {
		return true, secrets.HideAddress(err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // lets the connection be used again
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s answered %d %s", secrets.Origin(c.URL), res.StatusCode, http.StatusText(res.StatusCode))
	}
	return again, err
}

// Request is the request that sends items of a signal: logRecords of Logs, spans of Spans, or metrics of Metrics. scope
// is the package that they are of.
func Request(signal, items, scope, version string, all any) any {
	about := []Attribute{Text("service.name", "codemode")}
	if version != "" {
		about = append(about, Text("service.version", version))
	}
	return map[string]any{"resource" + signal: []any{map[string]any{
		"resource": map[string]any{"attributes": about},
		"scope" + signal: []any{map[string]any{
			"scope": map[string]any{"name": "github.com/codemode-project/codemode" + scope}, items: all,
		}},
	}}}
}

// An Attribute has one of the values.
type Attribute struct {
	Key   string `json:"key"`
	Value Value  `json:"value"`
}

// A Value is one of its fields.
type Value struct {
	String *string `json:"stringValue,omitempty"`
	Int    *Int    `json:"intValue,omitempty"`
	Double *Double `json:"doubleValue,omitempty"`
}

// An Int has 64 bits, which are text in JSON.
type Int int64

// MarshalText gives the decimal form.
func (n Int) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(n), 10), nil }

// UnmarshalText reads the decimal form.
func (n *Int) UnmarshalText(text []byte) error {
	v, err := strconv.ParseInt(string(text), 10, 64)
	*n = Int(v)
	return err
}

// A Double may be no number, which is text in JSON.
type Double float64

// MarshalJSON gives a number, or "NaN", "Infinity" or "-Infinity".
func (d Double) MarshalJSON() ([]byte, error) {
	switch f := float64(d); {
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`), nil
	}
	return json.Marshal(float64(d))
}

// Text makes an attribute of a text.
func Text(key, s string) Attribute { return Attribute{key, Value{String: &s}} }

// Whole makes an attribute of a number.
func Whole(key string, n int64) Attribute {
	i := Int(n)
	return Attribute{key, Value{Int: &i}}
}
