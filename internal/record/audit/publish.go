package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/store"
)

// A Publisher stores checkpoints elsewhere. One goroutine calls Publish, with a short timeout.
type Publisher interface {
	Publish(ctx context.Context, line []byte) error
}

const (
	// The writer publishes a checkpoint after publishEvery entries, or publishAfter the first uncovered one.
	publishEvery = 1000
	publishAfter = 5 * time.Second
	// publishWait bounds one attempt.
	publishWait = 10 * time.Second
)

// FilePublisher appends checkpoints to a file. The fewer people can write to it, the more it proves.
func FilePublisher(path string) Publisher { return &filePublisher{path: path} }

type filePublisher struct {
	path string
	file *os.File
}

func (p *filePublisher) Publish(_ context.Context, line []byte) error {
	if p.file != nil { // it may have been rotated away
		at, err := os.Stat(p.path)
		open, err2 := p.file.Stat()
		if err != nil || err2 != nil || !os.SameFile(at, open) {
			p.file.Close()
			p.file = nil
		}
	}
	if p.file == nil {
		f, err := os.OpenFile(p.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		p.file = f
		line = append(endLine(p.path, f), line...)
	}
	if _, err := p.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return p.file.Sync()
}

// endLine completes a line that a crash has cut off.
func endLine(path string, f *os.File) []byte {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil
	}
	in, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer in.Close()
	var last [1]byte
	if _, err := in.ReadAt(last[:], info.Size()-1); err != nil || last[0] == '\n' {
		return nil
	}
	return []byte{'\n'}
}

func (p *filePublisher) Close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// LogPublisher writes checkpoints to a log, which may be kept elsewhere.
func LogPublisher(log *slog.Logger) Publisher { return logPublisher{log} }

type logPublisher struct{ log *slog.Logger }

func (p logPublisher) Publish(_ context.Context, line []byte) error {
	p.log.Info("checkpoint of the record", "checkpoint", string(line))
	return nil
}

// WebhookPublisher posts checkpoints to a URL.
func WebhookPublisher(url string, client *http.Client) Publisher {
	return &webhookPublisher{url, client}
}

type webhookPublisher struct {
	url    string
	client *http.Client
}

func (p *webhookPublisher) Publish(ctx context.Context, line []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(line))
	if err != nil {
		return secrets.HideAddress(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := p.client.Do(req)
	if err != nil {
		return secrets.HideAddress(err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 4096) // lets the connection be used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %d %s", secrets.Origin(p.url), res.StatusCode, http.StatusText(res.StatusCode))
	}
	return nil
}

// publishing sends the ends of the writer's chain to the publishers, in the background.
type publishing struct {
	key  *Key
	to   []Publisher
	log  *slog.Logger
	done chan struct{}

	// Used only by the writer.
	rows  int // not covered yet
	since time.Time
	begun bool // something was sent

	mu     sync.Mutex
	next   string // "" is none
	wake   chan struct{}
	closed bool
}

func newPublishing(o Options) *publishing {
	p := &publishing{key: o.Key, to: o.Publish, log: o.Log, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	go p.run()
	return p
}

// moved records that the chain is longer, and reports whether to send a checkpoint now: because many entries follow the
// last one, or because it is the first, since earlier processes may have left many entries uncovered.
func (p *publishing) moved(rows int) (many bool) {
	if p.rows == 0 {
		p.since = time.Now()
	}
	p.rows += rows
	return p.rows >= publishEvery || !p.begun
}

// later restarts the wait, as if the first entry without a checkpoint came now.
func (p *publishing) later() { p.since = time.Now() }

// due returns when to send a checkpoint even if few entries came.
func (p *publishing) due() time.Duration {
	if p.rows == 0 {
		return time.Hour
	}
	return publishAfter - time.Since(p.since)
}

// send passes the latest end to the background. It replaces one that is still waiting.
func (p *publishing) send(signed string) {
	if p.rows == 0 || signed == "" {
		return
	}
	p.rows, p.begun = 0, true
	p.mu.Lock()
	p.next = signed
	p.mu.Unlock()
	notify(p.wake)
}

func (p *publishing) run() {
	defer close(p.done)
	for {
		p.mu.Lock()
		c, closed := p.next, p.closed
		p.next = ""
		p.mu.Unlock()
		if c != "" {
			p.publish(c)
			continue
		}
		if closed {
			return
		}
		<-p.wake
	}
}

func (p *publishing) publish(signed string) {
	c := Checkpoint{Note: signed}
	for _, to := range p.to {
		ctx, cancel := context.WithTimeout(context.Background(), publishWait)
		if err := to.Publish(ctx, c.line()); err != nil {
			p.log.Error("publishing a checkpoint of the record failed", "error", err)
		}
		cancel()
	}
}

// close publishes the pending checkpoint.
func (p *publishing) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	notify(p.wake)
	<-p.done
	for _, to := range p.to {
		if c, ok := to.(io.Closer); ok {
			if err := c.Close(); err != nil {
				p.log.Warn("closing the checkpoints of the record failed", "error", err)
			}
		}
	}
}

// A GoneError says that a database is not the one in the checkpoints, or ends before they do.
type GoneError struct{ reason, detail string }

func (e *GoneError) Error() string  { return e.reason + ": " + e.detail }
func (e *GoneError) Reason() string { return e.reason }

// lookBack is how much of the end of a checkpoint file is compared with a newly opened database.
const lookBack = 64 << 10

// guard compares a database with the checkpoints published before: all entries that they cover must still be there. The
// command audit verify reads all entries and reports whether they are unchanged. Claiming a chain compares only its
// end.
// Entries of chains up to closed came back from a backup, and may be missing.
func (p *publishing) guard(ctx context.Context, db *store.DB, closed int64) error {
	key, err := ParsePublic(p.key.Public())
	if err != nil {
		return err
	}
	for _, to := range p.to {
		file, ok := to.(*filePublisher)
		if !ok {
			continue
		}
		checkpoints, err := tail(file.path)
		if err != nil {
			return err
		}
		latest := map[int64]Checkpoint{}
		for _, c := range checkpoints {
			if at, known := latest[c.Chain]; known && c.Database == db.ID() && c.Size <= at.Size {
				continue // checking a signature takes long
			}
			if c.Check(key) != nil {
				continue // for audit verify, which is stricter
			}
			if c.Database != db.ID() {
				return &GoneError{"the record was replaced by another one",
					fmt.Sprintf("%s speaks of the database %s, and this is %s; put the right one back, or move the file away with the record it belongs to", file.path, c.Database, db.ID())}
			}
			latest[c.Chain] = c
		}
		if len(latest) == 0 {
			continue
		}
		all, err := db.Entries.Ends(ctx)
		if err != nil {
			return err
		}
		ends := map[int64]store.End{}
		for _, e := range all {
			ends[e.Chain] = e
		}
		for _, c := range latest {
			now, err := parseCheckpoint(ends[c.Chain].Note)
			if ends[c.Chain].Seq >= c.Size && !(err == nil && now.Size == c.Size && now.Root != c.Root) ||
				c.Chain <= closed {
				continue
			}
			return &GoneError{"entries of the record are gone",
				fmt.Sprintf("chain %d had %d entries when %s was written, and they are not there as they were; put the record back as it was (codemode audit verify says more), or move it away with that file", c.Chain, c.Size, file.path)}
		}
	}
	return nil
}

// Present fails when there is no file at path although checkpoints mention one: the file was lost, and a new one would
// hide that.
func Present(path, checkpoints string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening it reports what is wrong, if anything
	}
	published, err := tail(checkpoints)
	if err != nil {
		return err
	}
	if len(published) == 0 {
		return nil
	}
	return &GoneError{"the file of the record was deleted",
		fmt.Sprintf("%s is gone, and %s says that there was one; put it back, or move that file away with what is left of the record", path, checkpoints)}
}

// tail reads the last checkpoints of a file; none if there is no file.
func tail(path string) ([]Checkpoint, error) {
	fail := func(err error) ([]Checkpoint, error) {
		return nil, fmt.Errorf("reading the checkpoints of the record: %s: %w", path, err)
	}
	f, err := os.Open(filepath.Clean(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fail(err)
	}
	from := max(0, size-lookBack)
	raw := make([]byte, size-from)
	if _, err := f.ReadAt(raw, from); err != nil && !errors.Is(err, io.EOF) {
		return fail(err)
	}
	if from > 0 {
		_, raw, _ = bytes.Cut(raw, []byte("\n"))
	}
	all, _, err := ReadCheckpoints(bytes.NewReader(raw))
	if err != nil {
		return fail(err)
	}
	return all, nil
}
