package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/process"
)

// maxAnswer limits how much of an answer is read, so that the connection can be used again.
const maxAnswer = 64 << 10

// post sends JSON. Anything but a 2xx is a failure; of the answer's text nothing is told, because it may repeat what
// was sent.
func (n *Notifier) post(ctx context.Context, address string, body any, set func(h http.Header, body []byte)) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "codemode/"+n.options.Version)
	if set != nil {
		set(request.Header, text)
	}
	answer, err := n.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	switch status := answer.StatusCode; {
	case status/100 == 2:
		return nil
	case status/100 == 3:
		return &failure{text: fmt.Sprintf("it answered %d, and redirects are not followed: configure the address that it "+
			"leads to", status), final: true}
	default:
		again := status/100 == 5 || status == http.StatusRequestTimeout || status == http.StatusTooEarly ||
			status == http.StatusTooManyRequests
		return &failure{text: fmt.Sprintf("it answered %d %s", status, http.StatusText(status)), final: !again,
			after: pauseOf(answer.Header.Get("Retry-After"))}
	}
}

// pauseOf reads Retry-After: seconds or a date.
func pauseOf(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds >= 0 {
		return min(time.Duration(seconds), longestPause/time.Second) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return time.Until(at)
	}
	return 0
}

// webhook sends a message as Standard Webhooks describes it: https://www.standardwebhooks.com. The id stays the same
// in each attempt, so that a receiver can ignore a message that it has.
func (n *Notifier) webhook(ctx context.Context, t *process.Target, m *message) error {
	type data struct {
		Questions []question `json:"questions"`
		More      int        `json:"more,omitempty"` // questions that are not listed
		Page      string     `json:"page,omitempty"`
	}
	body := struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      data      `json:"data"`
	}{"question.waiting", m.time.UTC(), data{m.questions, m.more, m.link}}
	if m.test {
		body.Type, body.Data.Questions = "test", []question{}
	}
	return n.post(ctx, t.Address, body, func(h http.Header, body []byte) {
		at := strconv.FormatInt(time.Now().Unix(), 10)
		h.Set("webhook-id", m.id)
		h.Set("webhook-timestamp", at)
		h.Set("webhook-signature", sign(t.Secret, m.id, at, body))
	})
}

// sign returns the signature of a request: the time is that of the attempt, in seconds.
func sign(secret []byte, id, at string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// ntfy publishes a message as JSON to the server of the topic: in headers, a name could add others.
func (n *Notifier) ntfy(ctx context.Context, t *process.Target, m *message) error {
	u, err := url.Parse(t.Address)
	if err != nil {
		return err
	}
	whole := strings.Trim(u.Path, "/")
	topic := path.Base(whole)
	server := *u
	server.Path = "/" + strings.TrimSuffix(whole, topic)
	server.RawPath = ""
	priority := 3
	switch risk := m.risk(); {
	case risk == call.High:
		priority = 4
	case risk.Compare(call.High) > 0:
		priority = 5
	}
	lines := append(m.lines(plainText), m.ending())
	body := map[string]any{"topic": topic, "title": m.title(plainText), "message": strings.Join(lines, "\n"),
		"priority": priority, "tags": []string{"question"}}
	if m.link != "" {
		body["click"] = m.link
	}
	return n.post(ctx, server.String(), body, func(h http.Header, _ []byte) {
		if t.Token != "" {
			h.Set("Authorization", "Bearer "+t.Token)
		}
	})
}

// slack sends a message to an incoming webhook of Slack, Mattermost or others that take the same.
func (n *Notifier) slack(ctx context.Context, t *process.Target, m *message) error {
	lines := []string{m.title(chatText)}
	for _, line := range m.lines(chatText) {
		lines = append(lines, "• "+line)
	}
	lines = append(lines, m.ending())
	return n.post(ctx, t.Address, map[string]any{"text": strings.Join(lines, "\n"), "unfurl_links": false,
		"unfurl_media": false}, nil)
}
