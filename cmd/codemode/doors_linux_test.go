package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tlstest"
)

// through connects an MCP client to a listener by a transport, and runs a program.
func through(t *testing.T, url string, by *http.Transport) {
	t.Helper()
	defer by.CloseIdleConnections()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: &http.Client{Transport: by}, MaxRetries: -1}, nil)
	checktest.OK(t, err)
	defer c.Close()
	if got := callText(t, c, `return 6 * 7`); !strings.HasPrefix(got, "42") {
		t.Errorf("the program returned %s", got)
	}
}

func TestServeAtASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s := serveOverHTTP(t, "unix:"+path, nil, "--config", write(t, filepath.Join(t.TempDir(), "codemode.json"), `{}`))
	by := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	through(t, "http://localhost/mcp", by)
	client := &http.Client{Transport: by}
	r, err := http.NewRequest(http.MethodPost, "http://evil.test/mcp", strings.NewReader("{}"))
	checktest.OK(t, err)
	if res, err := client.Do(r); err != nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("another host: %v, %v", res, err)
	} else {
		res.Body.Close()
	}
	by.CloseIdleConnections()
	s.end()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestServeWithTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	roots := x509.NewCertPool()
	roots.AddCert(tlstest.WritePair(t, certificate, key, 1))
	config := write(t, filepath.Join(dir, "codemode.json"),
		fmt.Sprintf(`{"http": {"tls": {"certificate": %q, "key": %q}}}`, certificate, key))
	s := serveOverHTTP(t, "0", nil, "--config", config)
	if !strings.HasPrefix(s.url, "https://127.0.0.1:") {
		t.Fatalf("it listens at %s", s.url)
	}
	through(t, s.url, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}})
	presented := func() int64 {
		address := strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/mcp")
		c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots})
		checktest.OK(t, err)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := presented(); n != 1 {
		t.Errorf("it presents certificate %d", n)
	}
	roots.AddCert(tlstest.WritePair(t, certificate, key, 2))
	if !testwait.Holds(func() bool { return presented() == 2 }) {
		t.Error("it does not present the new certificate")
	}
	write(t, key, "broken")
	checktest.OK(t, s.cmd.Process.Signal(syscall.SIGHUP))
	if !testwait.Holds(func() bool { return strings.Contains(s.log.String(), "the one before stays in use") }) {
		t.Errorf("nothing is said of a broken pair:\n%s", s.log)
	}
	if n := presented(); n != 2 {
		t.Errorf("with a broken pair it presents certificate %d", n)
	}
	s.end()
}

// TestServeUnderSystemd: it takes the socket of systemd, and tells it that it is ready, works, and stops.
func TestServeUnderSystemd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	checktest.OK(t, err)
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	checktest.OK(t, err)
	defer file.Close()
	path := filepath.Join(t.TempDir(), "notify")
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	checktest.OK(t, err)
	defer told.Close()
	cmd := command(t, "serve", "--http", "systemd", "--project", "none", "--config",
		write(t, filepath.Join(t.TempDir(), "codemode.json"), `{}`))
	// As systemd does, the variable has the number of the process, which only the process itself knows beforehand.
	const start = `LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$0" "$@"`
	shell := exec.Command("/bin/sh", append([]string{"-c", start}, cmd.Args...)...)
	shell.Env = append(cmd.Env, "LISTEN_FDS=1", "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=200000")
	shell.ExtraFiles = []*os.File{file}
	s := startServing(t, shell)
	if want := "http://" + listener.Addr().String() + "/mcp"; s.url != want {
		t.Errorf("it listens at %s, want %s", s.url, want)
	}
	next := func() string {
		_ = told.SetReadDeadline(time.Now().Add(20 * time.Second))
		b := make([]byte, 1000)
		n, err := told.Read(b)
		if err != nil {
			t.Fatalf("nothing more is told: %v\n%s", err, s.log)
		}
		return string(b[:n])
	}
	got := []string{next(), next(), next(), next()}
	if want := []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	through(t, s.url, &http.Transport{})
	checktest.OK(t, s.cmd.Process.Signal(syscall.SIGTERM))
	for state := ""; state != "STOPPING=1"; state = next() { // behind more signs of life
	}
	if err := <-s.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}
