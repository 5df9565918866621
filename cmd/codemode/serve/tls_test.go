package serve

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/tlstest"
)

func TestCertificatesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	set := config.TLS{Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	if _, err := newCertificates(set, log); err == nil {
		t.Error("it began without files")
	}
	tlstest.WritePair(t, set.Certificate, set.Key, 1)
	c, err := newCertificates(set, log)
	checktest.OK(t, err)
	now := time.Now()
	c.now = func() time.Time { return now }
	serves := func(want int64) {
		t.Helper()
		now = now.Add(lookEvery)
		pair, err := c.current(nil)
		if err != nil || pair.Leaf.SerialNumber.Int64() != want {
			t.Errorf("got %v, %v, want certificate %d", pair.Leaf.SerialNumber, err, want)
		}
	}
	serves(1)
	tlstest.WritePair(t, set.Certificate, set.Key, 2)
	if pair, _ := c.current(nil); pair.Leaf.SerialNumber.Int64() != 1 {
		t.Error("each handshake looks for other files")
	}
	serves(2)
	checktest.Write(t, set.Key, "half a ke")
	for range 10 {
		serves(2)
	}
	if n := strings.Count(text.String(), "level=ERROR"); n != 1 {
		t.Errorf("a broken pair was reported %d times:\n%s", n, text.String())
	}
	if err := os.Remove(set.Certificate); err != nil { // another problem
		t.Fatal(err)
	}
	serves(2)
	tlstest.WritePair(t, set.Certificate, set.Key, 3)
	serves(3)
	if n := strings.Count(text.String(), "a new certificate is in use"); n != 2 {
		t.Errorf("new pairs were reported %d times:\n%s", n, text.String())
	}
	if strings.Contains(text.String(), "PRIVATE") {
		t.Error("the log has the key")
	}
}

// Old versions of TLS are refused, and one connection carries one request at a time.
func TestTheVersionsOfTLS(t *testing.T) {
	dir := t.TempDir()
	set := config.TLS{Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	tlstest.WritePair(t, set.Certificate, set.Key, 1)
	c, err := newCertificates(set, slog.New(slog.DiscardHandler))
	checktest.OK(t, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	defer c.secure(s)()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	checktest.OK(t, err)
	go s.ServeTLS(listener, "", "")
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(c.pair.Leaf)
	for _, test := range []struct {
		most uint16
		want string
	}{{tls.VersionTLS13, "HTTP/1.1"}, {tls.VersionTLS12, "HTTP/1.1"}, {tls.VersionTLS11, ""}} {
		client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: test.most}}}
		res, err := client.Get("https://" + listener.Addr().String())
		if err != nil {
			if test.want != "" {
				t.Errorf("%x: %v", test.most, err)
			}
			continue
		}
		got, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(got) != test.want {
			t.Errorf("%x: got %q, want %q", test.most, got, test.want)
		}
		client.CloseIdleConnections()
	}
}
