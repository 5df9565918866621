package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostedtest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tlstest"
	"github.com/codemode-project/codemode/profiles"
)

// start starts a confined process and connects no client.
func (h *confinedHouse) start(address string, flags ...string) *served {
	h.t.Helper()
	return serveOverHTTP(h.t, address, []string{"HOME=" + h.home, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "TMPDIR=" + h.temp},
		append([]string{"--config", h.config, "--state", h.state, "--confine"}, flags...)...)
}

// Every address that flags or the configuration name is one that the confined process listens at, and no other.
func TestConfinedAddresses(t *testing.T) {
	t.Parallel()
	h := newConfinedHouse(t)
	for _, way := range []string{"flag", "configuration"} {
		path, address := filepath.Join(h.dir, "sockets", way), mcptest.FreeAddress(t)
		checktest.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		var flags []string
		if way == "flag" {
			h.configure(nil, map[string]map[string]any{"a": {"args": []string{h.files}}})
			flags = []string{"--diagnostics", address}
		} else {
			h.configure(map[string]any{"diagnostics": map[string]any{"address": address}},
				map[string]map[string]any{"a": {"args": []string{h.files}}})
		}
		s := h.start("unix:"+path, flags...)
		by := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}
		through(t, "http://localhost/mcp", by)
		if status, body := fetch(t, "http://"+address+"/readyz"); status != http.StatusOK {
			t.Errorf("%s: readyz: %d %s", way, status, body)
		}
		s.end()
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: the socket is left: %v", way, err)
		}
	}
	// It listens nowhere else.
	h.own(map[string]string{"listen": "refused"}, "--http", mcptest.FreeAddress(t))
}

// A certificate outside of /etc is read again after its renewal, whether the file or a link was replaced.
func TestConfinedCertificatesAreRenewed(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"files", "links"} {
		h := newConfinedHouse(t)
		certificate, key := filepath.Join(h.dir, "tls/live/tls.crt"), filepath.Join(h.dir, "tls/live/tls.key")
		archive := filepath.Join(h.dir, "tls/archive")
		for _, dir := range []string{filepath.Dir(key), archive} {
			checktest.OK(t, os.MkdirAll(dir, 0o700))
		}
		roots := x509.NewCertPool()
		renew := func(n int) {
			at := [2]string{certificate, key}
			if way == "links" { // as certbot does
				at = [2]string{filepath.Join(archive, fmt.Sprintf("cert%d.pem", n)), filepath.Join(archive, fmt.Sprintf("key%d.pem", n))}
			}
			roots.AddCert(tlstest.WritePair(t, at[0], at[1], int64(n)))
			for i, path := range []string{certificate, key} {
				if path == at[i] {
					continue
				}
				checktest.OK(t, os.Symlink(at[i], path+".new"))
				checktest.OK(t, os.Rename(path+".new", path))
			}
		}
		renew(1)
		h.configure(map[string]any{"http": map[string]any{"tls": map[string]any{"certificate": certificate, "key": key}}},
			map[string]map[string]any{"a": {"args": []string{h.files}}})
		s := h.start("0")
		presented := func() int64 {
			c, err := tls.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/mcp"),
				&tls.Config{RootCAs: roots})
			if err != nil {
				t.Fatalf("%s: %v\n%s", way, err, s.log)
			}
			defer c.Close()
			return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
		}
		for n := 1; n <= 3; n++ {
			if n > 1 {
				renew(n)
			}
			if !testwait.Holds(func() bool { return presented() == int64(n) }) {
				t.Errorf("%s: certificate %d is not in use:\n%s", way, n, s.log)
			}
		}
		s.end()
		// No server gets the key of the certificate.
		h.doctor(map[string]any{"confine": true, "http": map[string]any{"tls": map[string]any{"certificate": certificate,
			"key": key}}}, filepath.Dir(key))
	}
}

// Tokens from files and commands, also those that a reload names. What no start named needs another start, and the log
// says so.
func TestConfinedSecrets(t *testing.T) {
	h := newConfinedHouse(t)
	secrets, elsewhere := filepath.Join(h.dir, "secrets"), filepath.Join(h.dir, "elsewhere")
	for _, dir := range []string{secrets, elsewhere} {
		checktest.OK(t, os.Mkdir(dir, 0o700))
	}
	write(t, secrets+"/one", "the-token-of-anna-1")
	write(t, secrets+"/print", "#!/bin/sh\necho the-token-of-ben-$1\n")
	checktest.OK(t, os.Chmod(secrets+"/print", 0o700))
	configure := func(file, number string) {
		h.configure(map[string]any{"http": map[string]any{"tokens": []map[string]any{
			{"token": "${file:" + file + "}", "principal": "anna"},
			{"token": "${cmd:" + secrets + "/print " + number + "}", "principal": "ben"},
		}}}, map[string]map[string]any{"a": {"args": []string{h.files}}})
	}
	configure(secrets+"/one", "1")
	s := h.start("0")
	admitted := func(token string) bool {
		c, err := s.connect("2025-11-25", token, nil)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	if !admitted("the-token-of-anna-1") || !admitted("the-token-of-ben-1") || admitted("the-token-of-anna-2") {
		t.Errorf("the tokens of the start:\n%s", s.log)
	}
	write(t, secrets+"/two", "the-token-of-anna-2")
	configure(secrets+"/two", "2")
	for _, token := range []string{"the-token-of-anna-2", "the-token-of-ben-2"} {
		if !testwait.Holds(func() bool { return admitted(token) }) {
			t.Errorf("%s is not admitted after the reload:\n%s", token, s.log)
		}
	}
	if admitted("the-token-of-anna-1") {
		t.Error("the token before is admitted")
	}
	write(t, elsewhere+"/three", "the-token-of-anna-3")
	configure(elsewhere+"/three", "3")
	if !testwait.Holds(func() bool {
		return strings.Contains(s.log.String(), elsewhere+"/three of ${file:...} cannot be read: permission denied")
	}) {
		t.Errorf("the log does not say what cannot be read:\n%s", s.log)
	}
	if admitted("the-token-of-anna-3") {
		t.Error("a token that cannot be read is admitted")
	}
	if !strings.Contains(s.log.String(), "start codemode again") {
		t.Errorf("the log does not say what to do:\n%s", s.log)
	}
	s.end()
}

// form sends a form of the page, as a browser does.
func (p *person) form(path string, fields url.Values) (status int, text string) {
	p.t.Helper()
	fields.Set("csrf", p.csrf)
	req, err := http.NewRequestWithContext(p.t.Context(), "POST", p.base+p.path+path, strings.NewReader(fields.Encode()))
	checktest.OK(p.t, err)
	for name, value := range map[string]string{"Cookie": p.cookie, "Content-Type": "application/x-www-form-urlencoded",
		"Origin": req.URL.Scheme + "://" + req.URL.Host, "Sec-Fetch-Site": "same-origin"} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	checktest.OK(p.t, err)
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	checktest.OK(p.t, err)
	return res.StatusCode, string(all)
}

// The page writes rules if confine.write names the folder of the file, and otherwise says what to do.
func TestConfinedPageSavesRules(t *testing.T) {
	for _, mayWrite := range []bool{false, true} {
		h := newHouse(t, `{"asklist": ["filesystem__*"]}`, "--http", "127.0.0.1:0", "--confine")
		needConfinement(t)
		h.environment = append(h.environment, "TMPDIR="+t.TempDir(), "XDG_CACHE_HOME="+filepath.Join(h.home, "cache"))
		rules := filepath.Join(h.home, "rules")
		checktest.OK(t, os.Mkdir(rules, 0o700))
		h.config = filepath.Join(rules, "codemode.json")
		file := map[string]any{"confine": map[string]any{"write": []string{rules}}, "evaluation": map[string]any{
			"profiles": map[string]any{"p": map[string]any{"asklist": []string{"filesystem__*"}}}, "expose": []string{"p"}}}
		if !mayWrite {
			delete(file, "confine")
		}
		before, err := json.Marshal(file)
		checktest.OK(t, err)
		write(t, h.config, string(before))
		h.args[2] = h.config
		h.start()
		p := atThePage(t, h.environment)
		after := strings.Replace(string(before), `"expose"`, `"adminURL":"https://codemode.example/rules","expose"`, 1)
		fields := func(proof string) url.Values {
			return url.Values{"path": {h.config}, "digest": {profiles.Digest(before)}, "text": {after},
				"why": {"an address for people"}, "proof": {proof}}
		}
		if status, text := p.form("/rules/save", fields("")); status != http.StatusForbidden {
			t.Fatalf("without a code: %d %s", status, text)
		}
		status, text := p.form("/rules/save", fields(p.code(h.environment, "write the file "+h.config)))
		now, err := os.ReadFile(h.config)
		switch {
		case err != nil:
			t.Error(err)
		case mayWrite && (status != http.StatusSeeOther || string(now) != after):
			t.Errorf("the page did not save: %d %s", status, text)
		case !mayWrite && (string(now) != string(before) || status != http.StatusUnprocessableEntity ||
			!strings.Contains(text, "codemode is confined and may not write") || !strings.Contains(text, "confine.write")):
			t.Errorf("the page said %d %s", status, text)
		}
	}
}

// The record is an SQLite file with a write-ahead log. Other processes read it meanwhile, and a process that was killed
// leaves what the next one goes on with.
func TestConfinedRecord(t *testing.T) {
	h := newConfinedHouse(t)
	h.configure(nil, map[string]map[string]any{"a": {"args": []string{h.files}}})
	for n := 1; n <= 2; n++ {
		h.serve("--confine")
		for range 3 {
			h.check("a", "read "+h.files+"/a", "done")
		}
		if _, err := os.Stat(filepath.Join(h.state, "codemode.db-wal")); err != nil {
			t.Errorf("there is no write-ahead log: %v", err)
		}
		if code, text := show(t, "audit", "verify", "--state", h.state, "--config", h.config); code != 0 {
			t.Errorf("while it runs: exit code %d\n%s", code, text)
		}
		code, text := show(t, "audit", "export", "--state", h.state, "--config", h.config)
		if got := strings.Count(text, `"server":"a"`); code != 0 || got != 2*3*n { // each call begins and ends
			t.Errorf("the record has %d entries of calls, want %d: exit code %d", got, 2*3*n, code)
		}
		checktest.OK(t, h.served.cmd.Process.Kill())
		<-h.served.ended
	}
	if code, text := show(t, "audit", "verify", "--state", h.state, "--config", h.config); code != 0 {
		t.Errorf("after it was killed: exit code %d\n%s", code, text)
	}
}

// A login from outside works inside, is renewed there, and may come while the process serves.
func TestConfinedLogin(t *testing.T) {
	needConfinement(t)
	far, config := hostedConfig(t, hostedtest.Options{ExpiresIn: 1})
	s := serveOverHTTP(t, "0", []string{"TMPDIR=" + t.TempDir()}, "--config", config, "--confine")
	c, err := s.connect("2025-11-25", "", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.log)
	}
	const greet = `try { return await codemode.linear__greet({}) } catch (e) { return String(e.message ?? e) }`
	if got := callText(t, c, greet); strings.Contains(got, "hello") {
		t.Fatalf("without a login: %s", got)
	}
	if code, said := logIn(t, config); code != cli.ExitOK {
		t.Fatalf("codemode login: exit code %d, %s", code, said)
	}
	if !testwait.Holds(func() bool { return strings.Contains(callText(t, c, greet), "hello") }) {
		t.Errorf("the login of another process is not used:\n%s", s.log)
	}
	renewed := far.Renewed()
	if !testwait.Holds(func() bool { return strings.Contains(callText(t, c, greet), "hello") && far.Renewed() > renewed }) {
		t.Errorf("the login is not renewed:\n%s", s.log)
	}
	c.Close()
	s.end()
	// What it renewed is kept for the next process.
	if code, text := show(t, "run", "--config", config, "-e", "return await codemode.linear__greet({})"); code != cli.ExitOK ||
		!strings.Contains(text, "hello") {
		t.Errorf("after it: exit code %d, %s", code, text)
	}
}
