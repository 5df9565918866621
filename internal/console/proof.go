package console

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/console/rules"
	"github.com/codemode-project/codemode/internal/console/text"
)

// A session alone cannot widen what programs may do, or start anything: somebody may have stolen its cookie, or another
// person may sit before the open page. Such a change waits until the same request comes again with a code. The person
// who started the process gets the code, together with its purpose.

const (
	// changeLife is how long a change waits for its code.
	changeLife = 10 * time.Minute
	// proofLife is how long a code is valid.
	proofLife = 3 * time.Minute
	// maxChanges is how many changes of one session wait at once; one more replaces the oldest.
	maxChanges = 8
	// maxWrong is how many wrong codes for one change go into the record. Guesses need no other limit: a code has 130
	// random bits.
	maxWrong = 3
)

// A Confirmation is the code for a change that waits on the page, and what the change is. The person who types the code
// there confirms the change.
type Confirmation struct {
	Person  string    `json:"person"`
	What    string    `json:"what"`             // in one line
	Detail  []string  `json:"detail,omitempty"` // removed lines of a file, after "- ", and added ones, after "+ "
	Since   time.Time `json:"since"`            // time of the request
	Code    string    `json:"code"`             // valid once, for this change, in its session
	Expires time.Time `json:"expires"`          // of the code
}

// Confirm makes a code for each change of a person that waits on the page, oldest first. Earlier codes for these
// changes are void. Show the codes to the person who started the process and to nobody else.
func (c *Console) Confirm(person string) []Confirmation {
	var all []Confirmation
	for _, s := range c.logins.ofPerson(person) {
		all = append(all, s.confirm(c.logins.now())...)
	}
	slices.SortStableFunc(all, func(a, b Confirmation) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.What, b.What))
	})
	return all
}

func (s *session) confirm(now time.Time) (all []Confirmation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweepChanges(now)
	for _, x := range s.changes {
		code := rand.Text()
		x.code, x.expires = sha256.Sum256([]byte(code)), now.Add(proofLife)
		all = append(all, Confirmation{
			Person: s.person, What: x.what, Detail: slices.Clone(x.detail), Since: x.since, Code: code, Expires: x.expires,
		})
	}
	return all
}

// sweepChanges drops changes that have waited for too long. The caller holds s.mu.
func (s *session) sweepChanges(now time.Time) {
	s.changes = slices.DeleteFunc(s.changes, func(x *waiting) bool { return now.Sub(x.since) >= changeLife })
}

// expect makes a change wait for its code.
func (s *session) expect(request [sha256.Size]byte, ch *change, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweepChanges(now)
	if slices.ContainsFunc(s.changes, func(x *waiting) bool { return x.request == request }) {
		return
	}
	if len(s.changes) == maxChanges {
		s.changes = s.changes[1:]
	}
	s.changes = append(s.changes, &waiting{request: request, what: ch.what, detail: ch.detail, since: now})
}

// prove uses the code of a change. A wrong code changes nothing; tell says whether to record it.
func (s *session) prove(request [sha256.Size]byte, code string, now time.Time) (ok, tell bool) {
	code = strings.ToUpper(strings.Join(strings.Fields(code), ""))
	digest := sha256.Sum256([]byte(code))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweepChanges(now)
	at := slices.IndexFunc(s.changes, func(x *waiting) bool { return x.request == request })
	if at < 0 || code == "" {
		return false, false
	}
	x := s.changes[at]
	if !now.Before(x.expires) || subtle.ConstantTimeCompare(digest[:], x.code[:]) != 1 {
		x.wrong++
		return false, x.wrong <= maxWrong
	}
	s.changes = slices.Delete(s.changes, at, at+1)
	return true, false
}

// The code of a change comes in a header, or in a field of a form.
const (
	proofField  = "proof"
	proofHeader = "X-Proof"
	// requestField holds the other fields of a repeated form.
	requestField = "request"
)

type confirmView struct {
	frame
	What    string
	Detail  []string
	Problem string
	Action  string // the path of the request
	Request string // its fields, see repeated
	Back    string
}

// proved makes the change that a request prepares if the request has the code for exactly that change.
//
// Only proved carries out a [change]. Every route classified as widens goes through it.
func (c replies) proved(p prepare) page {
	return func(w http.ResponseWriter, r *http.Request, s *session) error {
		if isAPI(r) != (mediaType(r) == "application/json") {
			return errOtherMedia
		}
		request, code, again, err := proofOf(r)
		if err != nil {
			return refuse(http.StatusRequestEntityTooLarge, err.Error())
		}
		ch, err := p(w, r, s)
		if ch == nil || err != nil {
			return err
		}
		if ch.shown() > maxShown {
			return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the change has more than the %d KiB "+
				"that a person can compare; make it in several steps, or in the file itself", maxShown>>10))
		}
		now := c.logins.now()
		problem := ""
		if code != "" {
			ok, tell := s.prove(request, code, now)
			if ok {
				return ch.do(w, r)
			}
			problem = "The code is wrong: it is not for this change, was used before, or is older than three minutes; " +
				c.confirmCommand(s.person) + " prints a new one"
			if tell {
				c.noteRefused(r.Context(), call.Entry{
					Principal: s.person,
					Detail:    "a change on the page with a wrong code, at " + r.URL.Path, // the change may hold secrets
				})
			}
		}
		s.expect(request, ch, now)
		if wantsJSON(r) {
			return writeJSON(w, http.StatusForbidden, map[string]any{
				"ok": false, "proof": "wanted", "what": ch.what, "detail": ch.detail,
				"error": cmp.Or(problem, "this change needs a fresh proof: "+c.confirmCommand(s.person)+
					" prints a code for it; send the same request again with the code in the header "+proofHeader+
					", or as the field "+proofField+" of a form"),
			})
		}
		v := &confirmView{
			frame: c.frame(r, s, "", "Confirm the change"), What: ch.what, Detail: ch.detail, Problem: problem,
			Action: c.base(r) + r.URL.Path, Request: again, Back: c.base(r) + "/",
		}
		if strings.HasPrefix(r.URL.Path, "/rules/") {
			v.Here, v.Back = "rules", c.base(r)+"/rules"
		}
		if strings.HasPrefix(r.URL.Path, "/servers/") {
			v.Here, v.Back = "servers", c.base(r)+"/servers"
		}
		w.WriteHeader(http.StatusForbidden)
		return c.render(w, "confirm", v)
	}
}

// proofOf splits a request into the digest of its content, its code, and the fields that the browser must send again.
func proofOf(r *http.Request) (request [sha256.Size]byte, code, again string, err error) {
	h := sha256.New()
	if mediaType(r) == "application/json" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return request, "", "", fmt.Errorf("the request cannot be read, or is too large")
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		fmt.Fprintf(h, "json %s\n%s", r.URL.Path, body)
		return [sha256.Size]byte(h.Sum(nil)), r.Header.Get(proofHeader), "", nil
	}
	fields := maps.Clone(r.PostForm)
	delete(fields, "csrf")
	delete(fields, proofField)
	text := fields.Encode()
	fmt.Fprintf(h, "form %s\n%s", r.URL.Path, text)
	code = cmp.Or(r.Header.Get(proofHeader), r.PostForm.Get(proofField))
	return [sha256.Size]byte(h.Sum(nil)), code, base64.RawURLEncoding.EncodeToString([]byte(text)), nil
}

// repeated restores the fields of a form that comes again with a code. One field of letters encodes them, so that they
// stay the same byte for byte. repeated drops all other fields except the code.
func repeated(form url.Values) error {
	text, err := base64.RawURLEncoding.DecodeString(form.Get(requestField))
	if err != nil || len(text) == 0 {
		return err
	}
	fields, err := url.ParseQuery(string(text))
	if err != nil {
		return err
	}
	for name := range form {
		if name != "csrf" && name != proofField {
			delete(form, name)
		}
	}
	delete(fields, "csrf")
	delete(fields, proofField)
	maps.Copy(form, fields)
	return nil
}

// maxShown bounds a change on the page, in bytes: a code covers the whole change, so the person must see all of it.
const maxShown = 128 << 10

// shown is how many bytes of the change a person sees.
func (ch *change) shown() int {
	n := len(ch.what)
	for _, line := range ch.detail {
		n += len(line) + 1
	}
	return n
}

// changedLines returns the lines that differ between two texts.
func changedLines(before, after string) []string {
	var all []string
	for _, line := range rules.Diff(rules.Plain(before), rules.Plain(after), 0) {
		all = append(all, line.Sign+" "+inLine(line.Text))
	}
	return all
}

// inLine makes every character of a line visible, and keeps its spaces.
func inLine(line string) string {
	var b strings.Builder
	for _, x := range text.Lines(line) {
		if x.Tone == "" {
			b.WriteString(x.Text)
		} else {
			b.WriteString("<" + x.Text + ">")
		}
	}
	return b.String()
}
