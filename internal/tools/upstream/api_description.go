package upstream

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/tools/openapi"
	"github.com/codemode-project/codemode/internal/tools/rest"
)

const (
	describedPause = 2 * time.Second // between two looks at the file of a description
	describedKept  = 64              // descriptions in the folder, also of earlier versions
	describedMax   = 128 << 20       // bytes of one
)

// A description is one version of the description of an API. Operations read their parts of it from a copy that nobody
// changes.
type description struct {
	doc    *openapi.Document
	digest string
	etag   string // of an address
	stamp  stamp  // of a file
}

// A stamp tells versions of a file apart.
type stamp struct {
	size int64
	at   time.Time
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}

// describe reads the description of an API, and returns before if that still is the one; before may be nil.
func (h *host) describe(ctx context.Context, s *Server, before *description) (*description, error) {
	d := &description{stamp: stampOf(s.API.Description)}
	if before != nil && before.etag == "" && d.stamp == before.stamp && !servers.IsAddress(s.API.Description) {
		return before, nil
	}
	copied, err := h.copyFile()
	if err != nil {
		return nil, err
	}
	same := false
	if servers.IsAddress(s.API.Description) {
		same, err = d.fetch(ctx, s, copied, before)
	} else {
		err = d.copy(s.API.Description, copied)
	}
	if err == nil && !same && d.digest == "" {
		d.digest, err = digestOf(copied)
	}
	if err != nil || same || before != nil && before.digest == d.digest {
		_ = copied.Close()
		_ = os.Remove(copied.Name())
		if err == nil {
			before.stamp, before.etag = d.stamp, d.etag
		}
		return before, err
	}
	size, err := copied.Seek(0, io.SeekEnd)
	if err == nil {
		err = h.keep(copied, d.digest)
	}
	if err == nil {
		d.doc, err = openapi.Read(copied, size) // the operations keep the file open, until nobody has them
	}
	if err != nil {
		_ = copied.Close()
		return nil, fmt.Errorf("reading its description: %w", err)
	}
	return d, nil
}

// fetch gets the description from its address. It sends no credential there.
func (d *description) fetch(ctx context.Context, s *Server, to io.Writer, before *description) (same bool, err error) {
	u, err := url.Parse(s.API.Description)
	if err != nil {
		return false, errors.New("the address of its description cannot be read")
	}
	o := rest.FetchOptions{URL: u, AllowPrivate: s.API.AllowPrivate, Max: describedMax}
	if before != nil && before.etag != noTag {
		o.ETag = before.etag
	}
	got, err := rest.Fetch(ctx, o, to)
	if err != nil {
		return false, fmt.Errorf("getting its description: %w", err)
	}
	d.etag = cmp.Or(got.ETag, noTag)
	return got.Same && before != nil, nil
}

// noTag is the etag of an address that gives none.
const noTag = "-"

func (d *description) copy(path string, to io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening its description: %w", err)
	}
	defer f.Close()
	n, err := io.Copy(to, io.LimitReader(f, describedMax+1))
	if err == nil && n > describedMax {
		err = fmt.Errorf("its description is longer than %d bytes", describedMax)
	}
	return err
}

func digestOf(f *os.File) (string, error) {
	sum := sha256.New()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// copyFile makes the file for a copy, which others may not read.
func (h *host) copyFile() (*os.File, error) {
	if h.descriptions != "" {
		if err := os.MkdirAll(h.descriptions, 0o700); err != nil {
			return nil, fmt.Errorf("storing the description of an API: %w", err)
		}
	}
	return os.CreateTemp(h.descriptions, ".new-*")
}

// keep gives the copy its name, and removes the oldest ones.
func (h *host) keep(f *os.File, digest string) error {
	if h.descriptions == "" {
		return os.Remove(f.Name()) // it lives as long as it is open
	}
	if err := os.Rename(f.Name(), filepath.Join(h.descriptions, digest)); err != nil {
		return err
	}
	all, err := os.ReadDir(h.descriptions) // sorted by name
	if err != nil || len(all) <= describedKept {
		return err
	}
	at := func(e fs.DirEntry) stamp { return stampOf(filepath.Join(h.descriptions, e.Name())) }
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return at(a).at.Compare(at(b).at) })
	for _, e := range all[:len(all)-describedKept] {
		if err := os.Remove(filepath.Join(h.descriptions, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// describedText is what the description with that digest says of a tool: [catalog.Source.Text] of it. It is nil if that
// is no longer there.
func describedText(dir, digest, tool string) json.RawMessage {
	if dir == "" || filepath.Base(digest) != digest {
		return nil
	}
	f, err := os.Open(filepath.Join(dir, digest))
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	doc, err := openapi.Read(f, info.Size())
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(doc.Operations, func(o *openapi.Operation) bool { return o.Name == tool })
	if i < 0 {
		return nil
	}
	return wordsOf(doc.Operations[i])
}

// resultMax bounds the schema of a result in the text of an operation.
const resultMax = 64 << 10

// wordsOf is what a description says of an operation, with the types of its arguments and of small results.
func wordsOf(o *openapi.Operation) json.RawMessage {
	all := map[string]any{"method": o.Method, "path": o.Path, "operation": o.Text()}
	if input, err := o.Input(); err == nil {
		all["arguments"] = input
	}
	if output, err := o.Output(); err == nil && len(output) <= resultMax {
		all["result"] = output
	}
	return marshal(all)
}
