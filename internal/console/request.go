package console

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A refusal is an error for the client of a request.
type refusal struct {
	status int
	why    string
}

func (e *refusal) Error() string { return e.why }

func refuse(status int, why string) error { return &refusal{status, why} }

var (
	errForm      = refuse(http.StatusBadRequest, "the form cannot be read")
	errMediaType = refuse(http.StatusUnsupportedMediaType, "send a form or JSON")
	errNotJSON   = refuse(http.StatusUnsupportedMediaType, "send JSON")
	// errOtherMedia is for the changes that are a page for people who send a form.
	errOtherMedia = refuse(http.StatusUnsupportedMediaType,
		"send JSON to the paths below /api, and forms to the others")
)

func readForm(r *http.Request) error {
	if r.ParseForm() != nil {
		return errForm
	}
	return nil
}

// lineEnds gives lines one kind of end: browsers send CR and LF for each.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func mediaType(r *http.Request) string {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// wantsJSON reports whether the client reads JSON: a front end, or the script of a page.
func wantsJSON(r *http.Request) bool {
	return isAPI(r) || r.Header.Get("Accept") == "application/json" || mediaType(r) == "application/json"
}

// readJSON reads one object and nothing else. It refuses a key that is unknown or occurs twice.
func readJSON(r *http.Request, to any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return refuse(http.StatusBadRequest, "the request cannot be read, or is too large")
	}
	if _, err := strictjson.Canonical(body); err != nil {
		return refuse(http.StatusBadRequest, "the request is not strict JSON: "+word(err.Error()))
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return refuse(http.StatusBadRequest, "the request has a wrong member or type: "+word(err.Error()))
	}
	return nil
}

func writeJSON(w http.ResponseWriter, code int, v any) error {
	js, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the answer cannot be written as JSON", http.StatusInternalServerError)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(js, '\n')) // the client is gone
	return nil
}

// word makes a short text from elsewhere visible.
func word(s string) string { return prompt.Words(s) }
