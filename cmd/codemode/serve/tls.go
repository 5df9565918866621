package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/codemode-project/codemode/config"
)

// certificates are a certificate and its key in files, which are read again when they have changed. While a new pair is
// broken the last good one stays.
type certificates struct {
	set config.TLS
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	pair   *tls.Certificate
	read   [2]fs.FileInfo // of the pair
	looked time.Time
	said   string // the last problem in the log
}

// lookEvery is how often handshakes look for other files.
const lookEvery = time.Second

// newCertificates reads the pair. A pair that cannot be used is an error.
func newCertificates(set config.TLS, log *slog.Logger) (*certificates, error) {
	c := &certificates{set: set, log: log, now: time.Now}
	if err := c.load(); err != nil {
		return nil, err
	}
	if c.read[1].Mode().Perm()&0o004 != 0 {
		log.Warn("every user of this machine may read the key of the certificate: chmod o-r", "file", set.Key)
	}
	return c, nil
}

// load reads the files.
func (c *certificates) load() error {
	seen, err := c.stat()
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.set.Certificate, c.set.Key)
	if err != nil {
		return fmt.Errorf("the certificate in %s and the key in %s cannot be used: %w", c.set.Certificate, c.set.Key, err)
	}
	c.pair, c.read = &pair, seen
	return nil
}

func (c *certificates) stat() (seen [2]fs.FileInfo, err error) {
	for i, path := range []string{c.set.Certificate, c.set.Key} {
		if seen[i], err = os.Stat(path); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// same reports whether nobody has written a file in between.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// current is the certificate for a handshake.
func (c *certificates) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		c.renew(false)
	}
	return c.pair, nil
}

// renew reads the files, if they have changed or always, and says what came of it. The caller holds mu.
func (c *certificates) renew(always bool) {
	seen, err := c.stat()
	if err == nil && !always && same(seen[0], c.read[0]) && same(seen[1], c.read[1]) {
		c.said = ""
		return
	}
	if err == nil {
		err = c.load()
	}
	switch {
	case err == nil:
		c.said = ""
		c.log.Info("a new certificate is in use", "until", c.pair.Leaf.NotAfter)
	case err.Error() != c.said:
		c.said = err.Error()
		c.log.Error("the new certificate cannot be used; the one before stays in use", "error", err, "until",
			c.pair.Leaf.NotAfter)
	}
}

// again reads the files at each signal to do so, until ctx ends.
func (c *certificates) again(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	if hangup != nil {
		signal.Notify(signals, hangup)
		defer signal.Stop(signals)
	}
	for {
		select {
		case <-signals:
			c.mu.Lock()
			c.renew(true)
			c.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// secure makes a server speak TLS 1.2 or later, with HTTP/1.1: the bounds on connections count one request on each.
// stop ends the listening for signals.
func (c *certificates) secure(s *http.Server) (stop func()) {
	s.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.current, NextProtos: []string{"http/1.1"}}
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { c.again(ctx) })
	return func() {
		cancel()
		ended.Wait()
	}
}
