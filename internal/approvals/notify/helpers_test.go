package notify

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/process"
)

const (
	pageAddress = "https://codemode.example/console"
	signingKey  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// configured reads the key "notifications" from the text of its destinations.
func configured(t testing.TB, destinations string) *process.Notifications {
	t.Helper()
	c, err := config.Parse("codemode.json", []byte(`{"notifications": {"page": "`+pageAddress+`", "destinations": {`+
		destinations+`}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return c.Notified(config.ConsolePath)
}

func env(name string) (string, bool) {
	v, ok := map[string]string{"KEY": signingKey, "TOKEN": "tk_c4n4ry", "PASSWORD": "p-c4n4ry"}[name]
	return v, ok
}

// A received is a request that a destination got.
type received struct {
	at     time.Time
	path   string
	header http.Header
	body   map[string]any
}

func (r *received) text() string {
	for _, key := range []string{"text", "message"} {
		if s, ok := r.body[key].(string); ok {
			return s
		}
	}
	raw, _ := json.Marshal(r.body)
	return string(raw)
}

// number is how many questions a webhook's message is about.
func (r *received) number() int {
	data := r.body["data"].(map[string]any)
	more, _ := data["more"].(float64)
	return len(data["questions"].([]any)) + int(more)
}

// A receiver is what destinations are: it keeps what it gets. answer says how it answers; nil is 204.
type receiver struct {
	answer func(w http.ResponseWriter, n int)

	mu  sync.Mutex
	all []*received
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	raw, _ := io.ReadAll(request.Body)
	got := &received{at: time.Now(), path: request.URL.Path, header: request.Header}
	if json.Unmarshal(raw, &got.body) != nil {
		got.body = map[string]any{"raw": string(raw)}
	}
	got.header.Set("X-Body", string(raw))
	r.mu.Lock()
	r.all = append(r.all, got)
	n := len(r.all)
	r.mu.Unlock()
	if r.answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	r.answer(w, n)
}

func (r *receiver) got() []*received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*received(nil), r.all...)
}

// RoundTrip calls the receiver without a network, which a bubble of synctest does not have.
func (r *receiver) RoundTrip(request *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() { defer close(done); r.ServeHTTP(w, request) }()
	select {
	case <-done:
		return w.Result(), nil
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
}

// A desk asks questions at a page.
type desk struct {
	t        testing.TB
	desk     approvals.Desk
	page     *approvals.Queue
	notifier *Notifier
	log      *strings.Builder
	settings *process.Notifications
	answers  sync.WaitGroup

	mu   sync.Mutex
	said []approvals.Result
}

// newDesk makes a desk whose questions go to the destinations; a test calls its end.
func newDesk(t testing.TB, destinations string) *desk {
	t.Helper()
	d := &desk{t: t, page: approvals.NewStrongQueue("web"), log: &strings.Builder{}, settings: configured(t, destinations)}
	var mu sync.Mutex
	log := slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return d.log.Write(p)
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	d.notifier = New(Options{Log: log, Env: env, Version: "1", Settings: func() *process.Notifications {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.settings
	}})
	d.desk.Opened = d.notifier.Opened
	return d
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// configure replaces the configuration.
func (d *desk) configure(s *process.Notifications) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settings = s
}

var numbers struct {
	sync.Mutex
	n int
}

func question1(tool string) *prompt.Request {
	numbers.Lock()
	defer numbers.Unlock()
	numbers.n++
	server, name, _ := strings.Cut(tool, "__")
	return &prompt.Request{Server: server, Tool: name, Name: tool, Profile: "deploy", Risk: call.Medium,
		Principal: "local:anna", Run: "r_1", Call: numbers.n, Time: time.Now(),
		Args: json.RawMessage(fmt.Sprintf(`{"text":"secret-c4n4ry","n":%d}`, numbers.n))}
}

// ask puts questions together, and waits in the background for their answers.
func (d *desk) ask(ctx context.Context, o approvals.Options, questions ...*prompt.Request) {
	if o.Timeout == 0 {
		o.Timeout = time.Hour
	}
	o.Await = true
	d.answers.Go(func() {
		got := d.desk.AskAll(ctx, questions, []approvals.Channel{d.page}, o)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.said = append(d.said, got...)
	})
}

// answerAll answers what is open, as somebody who comes for that.
func (d *desk) answerAll() {
	d.t.Helper()
	seat := d.page.Sit("anna")
	defer seat.Leave()
	for _, open := range seat.Pending() {
		r := open.Request
		if err := seat.Answer(r.ID, r.Digest, r.Code, call.Answer{Allowed: true}); err != nil {
			d.t.Errorf("answering: %v", err)
		}
	}
}

// end waits for the answers and for the notifier.
func (d *desk) end() {
	d.answers.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d.notifier.Close(ctx)
}

func secretBytes() ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.TrimPrefix(signingKey, "whsec_"))
}
