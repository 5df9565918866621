package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// The guest is compiled once; then its machine code comes from the cache, as
// long as that is what was put there.
func TestCompiledOnce(t *testing.T) {
	wasm, err := os.ReadFile("../quickjs.wasm")
	checktest.OK(t, err)
	dir := t.TempDir()
	// The tests' own cache has this guest. Compiling it takes the race detector long.
	if cache := cachetest.Dir(); cache != "" {
		testEngine(t)
		sum := sha256.Sum256(wasm)
		hash := hex.EncodeToString(sum[:])
		from := filepath.Join(cache, "guest-"+hash[:16])
		to, _, err := openCache(dir, hash)
		check(t, err)
		// The tests of another package may be putting it there just now.
		for range testwait.Polls(testwait.Bound) {
			check(t, errors.Join(os.RemoveAll(to.code), os.RemoveAll(to.sum)))
			text, err := os.ReadFile(filepath.Join(from, "sum"))
			if err = errors.Join(err, os.CopyFS(to.code, os.DirFS(filepath.Join(from, "code"))),
				os.WriteFile(to.sum, text, 0o600)); err == nil && to.state() == cacheGood {
				break
			}
		}
	}
	var reasons []string
	start := func() {
		t.Helper()
		e, err := New(t.Context(), Options{Wasm: wasm, CacheDir: dir,
			Compiling: func(reason string) { reasons = append(reasons, reason) }})
		checktest.OK(t, err)
		defer e.Close(t.Context())
		r, err := e.Run(t.Context(), Program{Source: "return JSON.parse('[1]').map(x => x + 1)"}, echo)
		if err != nil || string(r.Value) != "[2]" {
			t.Errorf("got %s, %v", r.Value, err)
		}
	}
	start()
	start()
	guests, _ := filepath.Glob(filepath.Join(dir, "guest-*"))
	if len(guests) != 1 {
		t.Fatalf("the cache holds %q, want one guest", guests)
	}
	file, err := onlyFile(filepath.Join(guests[0], "code"))
	checktest.OK(t, err)
	flip(t, file, 1<<20)
	start()
	start()
	want := []string{damaged}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("compiled (-want +got):\n%s", diff)
	}
	if left, _ := filepath.Glob(filepath.Join(guests[0], "*")); len(left) != 2 {
		t.Errorf("the cache holds %q, want code and sum", left)
	}
}

// Where others can write, nothing is run that they could have put there.
func TestForeignCache(t *testing.T) {
	const hash = "0123456789abcdef0123"
	open := func(dir string) (*codeCache, bool, error) { return openCache(dir, hash) }
	for _, tt := range []struct {
		name    string
		harm    func(t *testing.T, dir, own string)
		emptied bool
		err     string
	}{
		{"ours", func(t *testing.T, dir, own string) {}, false, ""},
		{"the cache may be written to by all", func(t *testing.T, dir, own string) { check(t, os.Chmod(dir, 0o777)) }, false,
			"is writable by others (mode 0777)"},
		{"the cache is a file", func(t *testing.T, dir, own string) {
			check(t, os.RemoveAll(dir))
			check(t, os.WriteFile(dir, nil, 0o600))
		}, false, "not a directory"},
		{"the guest's own directory may be written to by all", func(t *testing.T, dir,
			own string) {
			check(t, os.Chmod(own, 0o777))
		}, true, ""},
		{"and by a group", func(t *testing.T, dir, own string) { check(t, os.Chmod(own, 0o770)) }, true, ""},
		{"the guest's own directory is a file", func(t *testing.T, dir, own string) {
			check(t, os.RemoveAll(own))
			check(t, os.WriteFile(own, nil, 0o600))
		}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			c, _, err := open(dir)
			check(t, err)
			own := filepath.Dir(c.code)
			check(t, os.WriteFile(filepath.Join(own, "planted"), nil, 0o600))
			tt.harm(t, dir, own)
			_, emptied, err := open(dir)
			if emptied != tt.emptied || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got emptied %v, %v; want %v, %q", emptied, err, tt.emptied, tt.err)
			}
			if _, err := os.Stat(filepath.Join(own, "planted")); tt.emptied != os.IsNotExist(err) && tt.err == "" {
				t.Errorf("what was there before: %v", err)
			}
		})
	}
}

// A cache that cannot be used is left alone, and the guest compiled without.
func TestStartWithoutACache(t *testing.T) {
	open, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	check(t, os.Chmod(open, 0o777))
	check(t, os.WriteFile(file, nil, 0o600))
	for _, tt := range []struct {
		dir  string
		want string
	}{{open, foreign}, {filepath.Join(file, "below"), uncached}, {"", uncached}} {
		var got []string
		compiling := func(reason string) { got = append(got, reason) }
		// soon compiled
		_, err := New(t.Context(), Options{Wasm: []byte("\x00asm\x01\x00\x00\x00"), CacheDir: tt.dir, Compiling: compiling})
		if err == nil || !strings.Contains(err.Error(), "cm_do") || !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%q: got %v, compiled because %v; want %v and an error about what the guest lacks", tt.dir, err, got,
				tt.want)
		}
	}
	if left, _ := os.ReadDir(open); len(left) > 0 {
		t.Errorf("the foreign directory was used: it has %v", left)
	}
}

func flip(t *testing.T, file string, at int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	checktest.OK(t, err)
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

func TestDamageToTheCacheIsSeen(t *testing.T) {
	const size = 5000
	for _, tt := range []struct {
		name string
		harm func(t *testing.T, c *codeCache, file string)
		want int
	}{
		{"none", func(*testing.T, *codeCache, string) {}, cacheGood},
		{"the first byte", func(t *testing.T, _ *codeCache, file string) { flip(t, file, 0) }, cacheDamaged},
		{"a byte in the middle", func(t *testing.T, _ *codeCache, file string) { flip(t, file, size/2) }, cacheDamaged},
		{"the last byte", func(t *testing.T, _ *codeCache, file string) { flip(t, file, size-1) }, cacheDamaged},
		{"half of it", func(t *testing.T, _ *codeCache, file string) { check(t, os.Truncate(file, size/2)) }, cacheDamaged},
		{"all of it", func(t *testing.T, _ *codeCache, file string) { check(t, os.Truncate(file, 0)) }, cacheDamaged},
		{"zeros after it", func(t *testing.T, _ *codeCache, file string) { check(t, os.Truncate(file, size+4)) },
			cacheDamaged},
		{"a sum that is not its own", func(t *testing.T, c *codeCache, _ string) {
			check(t, os.WriteFile(c.sum, []byte("00000000 5000\n"), 0o600))
		}, cacheDamaged},
		{"no sum", func(t *testing.T, c *codeCache, _ string) { check(t, os.Remove(c.sum)) }, cacheDamaged},
		{"a second file", func(t *testing.T, _ *codeCache, file string) { check(t, os.WriteFile(file+"2", nil, 0o600)) },
			cacheEmpty},
		{"no file", func(t *testing.T, _ *codeCache, file string) { check(t, os.Remove(file)) }, cacheEmpty},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			c := &codeCache{code: filepath.Join(dir, "code"), sum: filepath.Join(dir, "sum")}
			whole, entry := filepath.Join(dir, "whole"), filepath.Join(dir, "stub")
			for _, d := range []string{whole, entry} {
				check(t, os.Mkdir(d, 0o700))
				check(t, os.WriteFile(filepath.Join(d, filepath.Base(d)+"-key"), make([]byte, size), 0o600))
			}
			check(t, c.keep(whole, entry))
			file := filepath.Join(c.code, "stub-key")
			tt.harm(t, c, file)
			if got := c.state(); got != tt.want {
				t.Errorf("got state %d, want %d", got, tt.want)
			}
		})
	}
}

var check = checktest.OK

func TestOnlyAGuestIsTakenApart(t *testing.T) {
	const start = "\x00asm\x01\x00\x00\x00"
	const memory = "\x05\x03\x01\x00\x01" // one page
	for name, text := range map[string]string{
		"nothing":                       "",
		"half a header":                 start[:5],
		"a section without size":        start + "\x01",
		"a section that is cut":         start + "\x01\x05\x00",
		"a size without an end":         start + "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"a code section of nothing":     start + "\x0a\x00",
		"more bodies than bytes":        start + "\x0a\x02\xff\x7f",
		"two memories":                  start + "\x05\x05\x02\x00\x01\x00\x01",
		"a memory of 4 GiB":             start + "\x05\x05\x01\x00\x80\x80\x04",
		"a memory without a size":       start + "\x05\x02\x01\x00",
		"a memory of 2^64 bytes":        start + "\x05\x09\x01\x00\x80\x80\x80\x80\x80\x80\x40",
		"data behind the memory":        start + memory + "\x0b\x09\x01\x00\x41\xff\xff\x03\x0b\x02ab",
		"data without a memory":         start + "\x0b\x07\x01\x00\x41\x00\x0b\x01a",
		"data at a negative address":    start + memory + "\x0b\x07\x01\x00\x41\x7f\x0b\x01a",
		"data at a global's address":    start + memory + "\x0b\x07\x01\x00\x23\x00\x0b\x01a",
		"data that a program places":    start + memory + "\x0b\x04\x01\x01\x01a",
		"data that are cut":             start + memory + "\x0b\x07\x01\x00\x41\x00\x0b\x02a",
		"data at an endless address":    start + memory + "\x0b\x0a\x01\x00\x41\xff\xff\xff\xff\xff\xff",
		"more data than there are":      start + memory + "\x0b\x07\x02\x00\x41\x00\x0b\x01a",
		"a data section of nothing":     start + memory + "\x0b\x00",
		"an address without an end op":  start + memory + "\x0b\x07\x01\x00\x41\x00\x00\x01a",
		"more data than bytes in there": start + memory + "\x0b\x02\xff\x7f",
	} {
		if m, err := takeApart([]byte(text)); err == nil {
			t.Errorf("%s: became %+v", name, m)
		}
	}
	m, err := takeApart([]byte(start + "\x03\x02\x01\x00" + memory + "\x0a\x06\x01\x04\x00\x41\x01\x0b" +
		"\x0b\x0e\x02\x00\x41\x02\x0b\x01a\x00\x41\x80\x40\x0b\x00" + "\x00\x01\x61"))
	if err == nil {
		t.Errorf("data at -8192 became %+v", m)
	}
	m, err = takeApart([]byte(start + "\x03\x02\x01\x00" + memory + "\x0a\x06\x01\x04\x00\x41\x01\x0b" +
		"\x0b\x0f\x02\x00\x41\x02\x0b\x01a\x00\x41\x80\xc0\x01\x0b\x01b" + "\x00\x01\x61"))
	check(t, err)
	if want := start + "\x03\x02\x01\x00" + memory + "\x0a\x06\x01\x04\x00\x41\x01\x0b" +
		"\x00\x01\x61"; string(m.bare()) != want {
		t.Errorf("without data it is %x; want %x", m.bare(), want)
	}
	if want := start + "\x03\x02\x01\x00" + memory + "\x0a\x05\x01\x03\x00\x00\x0b" +
		"\x00\x01\x61"; string(m.stub) != want {
		t.Errorf("the stub is %x; want %x", m.stub, want)
	}
	image, err := newSnapshot(m.memory, m.data)
	check(t, err)
	defer image.Close()
	if image.Size != wasmPage || image.From != 0 || image.To != 7*hostPage || image.Page(0)[2] != 'a' ||
		image.Page(6 * hostPage)[0] != 'b' {
		t.Errorf("its memory has %d bytes, of which %d to %d are not zero", image.Size, image.From, image.To)
	}
}
