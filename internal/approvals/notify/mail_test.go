package notify

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
)

// A mailServer speaks SMTP (RFC 5321), with STARTTLS (RFC 3207) and AUTH PLAIN (RFC 4954).
type mailServer struct {
	listener net.Listener
	tls      *tls.Config
	starts   bool              // it offers STARTTLS
	whole    bool              // TLS from the beginning
	login    string            // "user password" that AUTH wants; "" offers none
	refuse   map[string]string // what it answers to a command instead
	hangUp   bool              // it ends the connection after it took a mail

	mu       sync.Mutex
	mails    []string
	clear    []string // commands and data that came without TLS
	sessions int
	running  sync.WaitGroup
}

// certificate makes one for names, signed by itself.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	checktest.OK(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"mail.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	checktest.OK(t, err)
	parsed, err := x509.ParseCertificate(der)
	checktest.OK(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func (s *mailServer) start(t *testing.T) (port string) {
	t.Helper()
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.listener.Close(); s.running.Wait() })
	s.running.Go(func() {
		for {
			c, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.serve(c) })
		}
	})
	_, port, _ = net.SplitHostPort(s.listener.Addr().String())
	return port
}

func (s *mailServer) serve(c net.Conn) {
	defer func() { c.Close() }()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	s.mu.Lock()
	s.sessions++
	s.mu.Unlock()
	secure := s.whole
	if s.whole {
		c = tls.Server(c, s.tls)
	}
	in := bufio.NewReader(c)
	say := func(format string, args ...any) { fmt.Fprintf(c, format+"\r\n", args...) }
	say("220 mail.test ready")
	in8 := func() (string, bool) {
		line, err := in.ReadString('\n')
		if !secure {
			s.mu.Lock()
			s.clear = append(s.clear, line)
			s.mu.Unlock()
		}
		return strings.TrimRight(line, "\r\n"), err == nil
	}
	authorized := s.login == ""
	for {
		line, ok := in8()
		if !ok {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		verb = strings.ToUpper(verb)
		if answer := s.refuse[verb]; answer != "" {
			say("%s", answer)
			continue
		}
		switch verb {
		case "EHLO":
			say("250-mail.test")
			if s.starts && !secure {
				say("250-STARTTLS")
			}
			if s.login != "" {
				say("250-AUTH PLAIN")
			}
			say("250 8BITMIME")
		case "STARTTLS":
			say("220 go on")
			c = tls.Server(c, s.tls)
			in, secure = bufio.NewReader(c), true
		case "AUTH":
			_, encoded, _ := strings.Cut(rest, " ")
			raw, _ := base64.StdEncoding.DecodeString(encoded)
			if strings.TrimPrefix(strings.ReplaceAll(string(raw), "\x00", " "), " ") != s.login {
				say("535 5.7.8 the login %s is wrong", raw) // a careless server repeats it
				continue
			}
			authorized = true
			say("235 welcome")
		case "MAIL", "RCPT":
			if !authorized {
				say("530 log in first")
				continue
			}
			say("250 fine")
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for {
				line, ok := in8()
				if !ok {
					return
				}
				if line == "." {
					break
				}
				text.WriteString(strings.TrimPrefix(line, ".") + "\r\n")
			}
			s.mu.Lock()
			s.mails = append(s.mails, text.String())
			s.mu.Unlock()
			say("250 taken")
			if s.hangUp {
				return
			}
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 fine")
		}
	}
}

func (s *mailServer) seen() (mails, clear []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.mails...), append([]string(nil), s.clear...)
}

// TestMail sends to a mail server on this machine; under the name mail.test it stands for one elsewhere.
func TestMail(t *testing.T) {
	cert, roots := certificate(t)
	other, _ := certificate(t)
	const login = `, "user": "codemode", "password": "${PASSWORD}"`
	for _, row := range []struct {
		title   string
		server  *mailServer
		address string // without the port
		more    string
		wrong   string // "" is delivered
		final   bool
		clear   bool // the mail may go without TLS
	}{
		{"elsewhere, with STARTTLS", &mailServer{starts: true}, "smtp://mail.test", "", "", false, false},
		{"elsewhere, with STARTTLS and a login", &mailServer{starts: true, login: "codemode p-c4n4ry"}, "smtp://mail.test", login, "", false, false},
		{"elsewhere, without TLS", &mailServer{}, "smtp://mail.test", "", "does not support STARTTLS", false, false},
		{"elsewhere, without TLS, and a login", &mailServer{login: "codemode p-c4n4ry"}, "smtp://mail.test", login, "does not support STARTTLS", false, false},
		{"elsewhere, and STARTTLS fails", &mailServer{starts: true, refuse: map[string]string{"STARTTLS": "454 not now"}}, "smtp://mail.test", login, "454", false, false},
		{"elsewhere, with a certificate of somebody else", &mailServer{starts: true, tls: &tls.Config{Certificates: []tls.Certificate{other}}}, "smtp://mail.test", login, "certificate", false, false},
		{"TLS from the beginning", &mailServer{whole: true, login: "codemode p-c4n4ry"}, "smtps://127.0.0.1", login, "", false, false},
		{"TLS from the beginning, with a certificate of somebody else", &mailServer{whole: true, tls: &tls.Config{Certificates: []tls.Certificate{other}}}, "smtps://127.0.0.1", "", "certificate", false, false},
		{"on this machine", &mailServer{}, "smtp://127.0.0.1", "", "", false, true},
		{"the wrong login", &mailServer{starts: true, login: "codemode other"}, "smtp://mail.test", login, "535", true, false},
		{"a server that is busy", &mailServer{refuse: map[string]string{"DATA": "451 4.3.0 later"}}, "smtp://127.0.0.1", "", "451", false, true},
		{"an unknown recipient", &mailServer{refuse: map[string]string{"RCPT": "550 5.1.1 nobody"}}, "smtp://127.0.0.1", "", "550", true, true},
		{"a server that hangs up at the end", &mailServer{hangUp: true}, "smtp://127.0.0.1", "", "", false, true},
	} {
		t.Run(row.title, func(t *testing.T) {
			s := row.server
			if s.tls == nil {
				s.tls = &tls.Config{Certificates: []tls.Certificate{cert}}
			}
			port := s.start(t)
			n := New(Options{Env: env, Version: "1"})
			n.roots = roots
			n.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, s.listener.Addr().String())
			}
			d := configured(t, `"mail": {"smtp": "`+row.address+`:`+port+`", "from": "codemode@example.com", "to": ["anna@example.com", "ben@example.com"]`+
				row.more+`}`).Destinations[0]
			m := newMessage(hostileMessages(false)[0].openings, 0, false, pageAddress)
			err := n.attempt(d, m)
			mails, clear := s.seen()
			switch {
			case row.wrong == "" && (err != nil || len(mails) != 1):
				t.Errorf("got %v, and %d mails", err, len(mails))
			case row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong) || isFinal(err) != row.final || len(mails) > 0):
				t.Errorf("got %v, final: %v, and %d mails; want %q", err, isFinal(err), len(mails), row.wrong)
			case err != nil && (strings.Contains(err.Error(), "c4n4ry") || strings.ContainsAny(err.Error(), "\r\n\x00")):
				t.Errorf("got %q", err)
			}
			for _, line := range clear {
				verb, _, _ := strings.Cut(strings.TrimSpace(line), " ")
				if !row.clear && verb != "EHLO" && verb != "STARTTLS" && verb != "QUIT" && !strings.HasPrefix(line, "\x16\x03") &&
					verb != "" && strings.Contains("AUTH MAIL RCPT DATA", verb) {
					t.Errorf("without TLS it sent %q", line)
				}
			}
		})
	}
}

// A mail has one subject, its recipients and plain text, whatever it tells of; an attempt repeats its Message-ID.
func TestWhatAMailSays(t *testing.T) {
	s := &mailServer{}
	port := s.start(t)
	n := New(Options{Env: env, Version: "1"})
	d := configured(t, `"mail": {"smtp": "smtp://localhost:`+port+
		`", "from": "codemode@example.com", "to": ["anna@example.com", "ben@example.com"], "arguments": true}`).Destinations[0]
	messages := hostileMessages(true)
	messages = append(messages, testMessage(pageAddress), messages[0])
	for _, m := range messages {
		checktest.OK(t, n.attempt(d, m))
	}
	mails, _ := s.seen()
	if len(mails) != len(messages) {
		t.Fatalf("%d of %d mails arrived", len(mails), len(messages))
	}
	known := map[string]bool{"Date": true, "Message-Id": true, "Mime-Version": true, "Subject": true, "From": true, "To": true,
		"Auto-Submitted": true, "Content-Type": true, "Content-Transfer-Encoding": true}
	ids := map[string]int{}
	for _, text := range mails {
		letter, err := mail.ReadMessage(strings.NewReader(text))
		checktest.OK(t, err)
		for name, values := range letter.Header {
			if !known[name] || len(values) != 1 {
				t.Errorf("the header %s is %q", name, values)
			}
		}
		to, err := letter.Header.AddressList("To")
		if err != nil || len(to) != 2 || letter.Header.Get("From") != "<codemode@example.com>" {
			t.Errorf("from %s to %v, %v", letter.Header.Get("From"), to, err)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(letter.Header.Get("Subject"))
		if err != nil || !strings.HasPrefix(subject, "codemode: ") {
			t.Errorf("the subject is %q, %v", subject, err)
		}
		harmless(t, "the subject", subject, false)
		if kind := letter.Header.Get("Content-Type"); kind != "text/plain; charset=UTF-8" {
			t.Errorf("it is %s", kind)
		}
		body := letter.Body
		if letter.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
			body = quotedprintable.NewReader(body)
		}
		raw, err := io.ReadAll(body)
		checktest.OK(t, err)
		harmless(t, "the mail", strings.ReplaceAll(string(raw), "\r\n", "\n"), false)
		ids[letter.Header.Get("Message-Id")]++
	}
	if len(ids) != len(messages)-1 {
		t.Errorf("%d ids for %d mails, two of which are the same", len(ids), len(mails))
	}
}
