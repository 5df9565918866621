package upstream_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// An oracle is a server that repeats in its errors what it is told, as "mode" says. Without a mode it tells its own
// secret.
func oracle(t *testing.T, pin string) *httptest.Server {
	told := func(raw json.RawMessage) (mode, text string) {
		var in struct {
			Mode, Text string
			N          json.Number
			Parts      []string
		}
		_ = json.Unmarshal(raw, &in)
		text = in.Text + strings.Join(in.Parts, "")
		switch {
		case in.Mode == "own":
			return "error", pin
		case in.N != "":
			f, _ := in.N.Float64()
			text = fmt.Sprintf("%.0f", f)
		}
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil && len(plain) >= 6 && in.Mode == "base64" {
			return "error", string(plain)
		}
		if plain, err := hex.DecodeString(text); err == nil && in.Mode == "hex" {
			return "error", string(plain)
		}
		if plain, err := url.PathUnescape(text); err == nil && in.Mode == "percent" {
			return "error", plain
		}
		if in.Mode == "encodes" {
			return "error", base64.StdEncoding.EncodeToString([]byte(text))
		}
		return in.Mode, text
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "oracle", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			mode, text := told(r.Params.Arguments)
			if mode == "protocol" {
				return nil, errors.New("no user " + text)
			}
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no user " + text}}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var request struct {
			Params struct{ Arguments json.RawMessage }
		}
		_ = json.Unmarshal(body, &request)
		switch mode, text := told(request.Params.Arguments); mode {
		case "status":
			http.Error(w, "no user "+text, http.StatusUnprocessableEntity)
		case "page":
			fmt.Fprint(w, "<html>no user "+text)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// So do the last words of a process that a call ends. What no call contained stays masked.
func TestP39_12LastWordsAreNoOracle(t *testing.T) {
	t.Parallel()
	const pin = "482913"
	for _, row := range []struct {
		args, writes string
		masked       bool
	}{
		{`{"text":"482913"}`, "", false}, {`{"text":"482914"}`, "", false},
		{`{"text":"482914"}`, pin, true},
	} {
		s := fakeServer(t, "s", "crashes with its arguments", row.writes)
		s.Env["API_KEY"] = pin
		_, err := call(t, manage(t, upstream.Options{}, s), "s", "echo", row.args)
		if err == nil || !strings.Contains(err.Error(), "bad arguments") ||
			strings.Contains(err.Error(), "[secret]") != row.masked {
			t.Errorf("%s is answered with %v", row.args, err)
		}
	}
}

// An error looks the same for a right guess of a server's secret and for a wrong one, in whatever form the guess is
// passed and comes back.
func TestP39_12MaskedErrorsAreNoOracle(t *testing.T) {
	t.Parallel()
	const pin = "482913"
	h := httpServer("h", oracle(t, pin).URL)
	h.Headers = map[string][]string{"X-Api-Key": {pin}}
	m := manage(t, upstream.Options{}, h)
	ask := func(args string) string {
		_, err := call(t, m, "h", "ask", args)
		if err == nil {
			t.Fatalf("%s is no error", args)
		}
		return err.Error()
	}
	if text := ask(`{"mode":"own","text":"482914"}`); strings.Contains(text, pin) || !strings.Contains(text, "[secret]") {
		t.Errorf("the server's own secret is shown: %s", text)
	}
	quoted := func(s string) string { text, _ := json.Marshal(s); return string(text) }
	for how, args := range map[string]func(guess string) string{
		"a text":        func(g string) string { return `{"text":"` + g + `"}` },
		"inside a text": func(g string) string { return `{"text":"x` + g + `y"}` },
		"escaped":       func(g string) string { return `{"text":"\u0034` + g[1:] + `"}` },
		"a number":      func(g string) string { return `{"n":` + g + `}` },
		"with exponent": func(g string) string { return `{"n":` + g[:1] + "." + g[1:] + `e5}` },
		"in pieces":     func(g string) string { return `{"parts":["` + g[:3] + `","` + g[3:] + `"]}` },
		"base64": func(g string) string {
			return `{"mode":"base64","text":` + quoted(base64.StdEncoding.EncodeToString([]byte(g))) + `}`
		},
		"hex":             func(g string) string { return `{"mode":"hex","text":"` + hex.EncodeToString([]byte(g)) + `"}` },
		"percent":         func(g string) string { return `{"mode":"percent","text":"%34` + g[1:] + `"}` },
		"encoded by it":   func(g string) string { return `{"mode":"encodes","text":"` + g + `"}` },
		"of the protocol": func(g string) string { return `{"mode":"protocol","text":"` + g + `"}` },
		"a status":        func(g string) string { return `{"mode":"status","text":"` + g + `"}` },
		"a page":          func(g string) string { return `{"mode":"page","text":"` + g + `"}` },
	} {
		for _, guess := range []string{pin, "482914"} {
			if text := ask(args(guess)); strings.Contains(text, "[secret]") {
				t.Errorf("%s: the guess %s is answered with %q", how, guess, text)
			}
		}
	}
	var all []string // many guesses in one call
	for n := range 400 {
		all = append(all, fmt.Sprint(482700+n))
	}
	if text := ask(`{"text":"` + strings.Join(all, " ") + `"}`); strings.Contains(text, "[secret]") {
		t.Errorf("one of 400 guesses is masked")
	}
}
