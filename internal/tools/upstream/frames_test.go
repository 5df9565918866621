package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func frames(in io.Reader, max int) (out []string, dropped int64, err error) {
	f := newFrameReader(in, max)
	for {
		m, err := f.next()
		if err != nil {
			return out, f.dropped.Load(), err
		}
		out = append(out, string(m))
	}
}

func TestFrames(t *testing.T) {
	const a, b = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"m"}`
	for _, row := range []struct {
		name, in string
		want     []string
		dropped  int64
		err      error
	}{
		{"one on a line", a + "\n" + b + "\n", []string{a, b}, 0, io.EOF},
		{"CRLF and blank lines", "\r\n" + a + "\r\n\n \t\n" + b, []string{a, b}, 0, io.EOF},
		{"banners", "hello\n" + a + "\nbye\n", []string{a}, 2, io.EOF},
		{"text in front without a line end", "loading... " + a + "\n", []string{a}, 0, io.EOF},
		{"text behind", a + " done\n", []string{a}, 0, io.EOF},
		{"two on a line", a + b + "\n", []string{a, b}, 0, io.EOF},
		{"braces in front", `state {"ready": true} ` + a + "\n", []string{a}, 0, io.EOF},
		{"a byte order mark", "\xef\xbb\xbf" + a + "\n", []string{a}, 0, io.EOF},
		{"log lines in JSON", `{"level":"info","msg":"x"}` + "\n" + a + "\n", []string{a}, 1, io.EOF},
		{"other versions", `{"jsonrpc":"1.0","id":1,"result":{}}` + "\n", nil, 1, io.EOF},
		{"no version", `{"id":1,"result":{}}` + "\n", nil, 1, io.EOF},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}` + "\n", nil, 1, io.EOF},
		{"neither", `{"jsonrpc":"2.0","id":1}` + "\n", nil, 1, io.EOF},
		{"half a line at the end", a + "\n" + `{"jsonrpc":"2.0","id":2,"res`, []string{a}, 1, io.EOF},
		{"a batch", "[" + a + "," + b + "]\n", []string{"[" + a + "," + b + "]"}, 0, io.EOF},
		{"a batch of something else", "[1," + a + "]\n", []string{a}, 0, io.EOF},
		{"an empty batch", "[]\n", nil, 1, io.EOF},
		{"invalid UTF-8", `{"jsonrpc":"2.0","method":"` + "\xff" + `"}` + "\n",
			[]string{`{"jsonrpc":"2.0","method":"` + "\uFFFD" + `"}`}, 0, io.EOF},
		{"long text is skipped", strings.Repeat("x", 500) + "\n" + a + "\n", []string{a}, 1, io.EOF},
		{"a long message is not", `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 500) + "\"}\n" + a + "\n", nil,
			0, errFrameTooLarge},
		{"Content-Length frames", "Content-Length: 36\r\n\r\n" + a + "Content-Length: 30\r\n\r\n" + b + "\n", []string{a, b},
			1, io.EOF},
	} {
		t.Run(row.name, func(t *testing.T) {
			for name, in := range map[string]io.Reader{"at once": strings.NewReader(row.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(row.in))} {
				got, dropped, err := frames(in, 200)
				if d := cmp.Diff(row.want, got); d != "" || dropped != row.dropped || !errors.Is(err, row.err) {
					t.Errorf("%s: dropped %d, want %d; error %v, want %v; messages (-want +got):\n%s", name, dropped, row.dropped, err,
						row.err, d)
				}
			}
		})
	}
}

// What a server writes is not read again and again, however long it is and whatever stands in it.
func TestLongLinesAreReadOnce(t *testing.T) {
	const a = `{"jsonrpc":"2.0","id":1,"result":{}}`
	long := strings.Repeat(`{"jsonrpc":"2.0","a":"`, 200_000)
	for name, in := range map[string]string{"half a message": long, "text with a brace at the end": long + "}",
		"text with a message at the end": long + a} {
		if got := messagesIn([]byte(in)); got != nil {
			t.Errorf("%s: %d messages are found", name, len(got))
		}
	}
	if got := messagesIn([]byte(strings.Repeat("x", searchMax-len(a)) + a)); len(got) != 1 {
		t.Errorf("behind a long text: %d messages", len(got))
	}
}

// A million lines of noise with messages between them: none is lost, and none is made up.
func TestNoiseHidesNoMessage(t *testing.T) {
	lines := 1_000_000
	if testing.Short() {
		lines = 20_000
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	var in bytes.Buffer
	sent := 0
	for range lines {
		if rnd.IntN(100) == 0 {
			fmt.Fprintf(&in, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}\n", sent)
			sent++
			continue
		}
		for range rnd.IntN(12) {
			c := byte(rnd.IntN(256))
			if c == '\n' {
				c = '{'
			}
			in.WriteByte(c)
		}
		in.WriteByte('\n')
	}
	got, _, err := frames(&in, frameMax)
	if len(got) != sent || !errors.Is(err, io.EOF) {
		t.Errorf("%d messages of %d, %v", len(got), sent, err)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("x{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}y\n[{}]\n"))
	f.Add([]byte("{\"a\":{\"jsonrpc\":\"2.0\",\"method\":\"m\"}}\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, _, err := frames(bytes.NewReader(in), 1<<16)
		if err == nil {
			t.Error("it never ends")
		}
		for _, m := range got {
			if message([]byte(m)) == nil {
				t.Errorf("%q is no message", m)
			}
		}
	})
}

func FuzzResult(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"{\"a\":1}"}]}`,
		`{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"}],"structuredContent":{"a":[{"type":"resource","resource":{"blob":"x"}}]}}`,
		`{"content":[{"type":"resource","resource":{"uri":"x","text":"y"}}],"isError":true}`, `{}`, `{"content":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, _, err := readResult(t.Context(), raw)
		if err != nil {
			return
		}
		if message([]byte(`{"jsonrpc":"2.0","id":1,"result":`+string(r.Value)+`}`)) == nil {
			t.Errorf("the value %s is no JSON", r.Value)
		}
		if len(r.message()) > messageMax+10 {
			t.Error("the message is too long")
		}
		for id := range r.Blocks {
			if !bytes.Contains(r.Value, []byte(id)) {
				t.Errorf("block %s has no handle", id)
			}
		}
	})
}
