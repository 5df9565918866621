package sandbox

import (
	"bytes"
	"compress/flate"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
)

// Errors of [Engine.Resume] for an image that is damaged, forged, or of another guest wrap ErrImage.
var ErrImage = errors.New("sandbox: not an image of a run that this engine can resume")

// The form of an image: magic, HMAC-SHA256 of the rest under the park key, length of the header, header (JSON), and the
// compressed pages. A page is its number (uint32), a bit for each of its words that differs from the snapshot's, and
// these words, XORed with the snapshot's.
var imageMagic = []byte("codemode run 1\n")

type imageHeader struct {
	Guest  string        `json:"guest"`
	Name   string        `json:"name,omitempty"`
	Source string        `json:"source"` // for positions, and for people who inspect it
	Owner  string        `json:"owner,omitempty"`
	Limits Limits        `json:"limits"`
	Memory int           `json:"memory"`
	CPU    time.Duration `json:"cpu"`
	Wall   time.Duration `json:"wall"`
	Clock  time.Duration `json:"clock"`
	Calls  int           `json:"calls"`
	Open   []imageCall   `json:"open"`
	Number int           `json:"number,omitempty"` // of a program of a session
	Steps  int64         `json:"steps,omitempty"`
	// of a deterministic run
	Deterministic *Deterministic `json:"deterministic,omitempty"`
	Elapsed       time.Duration  `json:"elapsed,omitempty"`
	Answers       []imageAnswer  `json:"answers,omitempty"`
}

type imageCall struct {
	ID   int             `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// parkNow makes the image; the guest is idle, and ended is set.
func (r *Run) parkNow(g *guest, p *parking) error {
	t := now()
	r.steps.count(g)
	h := imageHeader{Guest: r.engine.hash, Name: r.program.Name, Source: r.program.Source,
		Owner: fair.Out(r.engine.tenant, r.program.Owner), Limits: r.limits,
		Memory: g.mem.Size, CPU: r.cpu, Wall: r.wall.at(t), Clock: t - g.clock, Number: r.program.number,
		Steps: r.steps.made, Deterministic: r.program.Deterministic, Elapsed: r.elapsed}
	r.mu.Lock()
	h.Calls = r.calls
	for _, c := range r.open {
		h.Open = append(h.Open, imageCall{c.ID, c.Name, c.Args})
	}
	h.Answers = saveAnswers(r.answers)
	r.mu.Unlock()
	p.image, p.err = r.engine.writeImage(h, g)
	if p.err != nil {
		return p.err
	}
	return ErrParked
}

// deflaters keeps compressors, which take most of a megabyte each.
var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // fails for other levels only
	return w
}}

func (e *Engine) writeImage(h imageHeader, g *guest) ([]byte, error) {
	return e.seal(imageMagic, h, func(yield func(at int, page []byte)) {
		e.snapshot.Written(g.mem, func(at int) {
			if at >= e.snapshot.From { // before it is the stack, which is empty while nothing runs
				yield(at, g.mem.Bytes[at:at+hostPage])
			}
		})
	})
}

// seal makes an image of a header and pages.
func (e *Engine) seal(magic []byte, h any, pages func(yield func(at int, page []byte))) ([]byte, error) {
	e.imaging.Lock() // the buffers of one image are several times as large as the image
	defer e.imaging.Unlock()
	header, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("writing the image's header: %w", err)
	}
	var b bytes.Buffer
	b.Write(magic)
	b.Write(make([]byte, sha256.Size))
	_ = binary.Write(&b, binary.LittleEndian, uint32(len(header)))
	b.Write(header)
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&b)
	var page [pageHead + hostPage]byte
	pages(func(at int, p []byte) {
		n := packPage(&page, at, p, e.base(at))
		_, _ = w.Write(page[:n]) // into memory
	})
	if err := w.Close(); err != nil {
		return nil, err
	}
	image := slices.Clone(b.Bytes())
	e.dump.add(2 * b.Cap())
	copy(image[len(magic):], e.sign(magic, image[len(magic)+sha256.Size:]))
	return image, nil
}

const (
	word     = 4 // bytes; most of what a guest writes is pointers
	pageHead = 4 + hostPage/word/8
)

// base is the page at that offset as the snapshot has it; outside the snapshot a guest begins with zeros.
func (e *Engine) base(at int) []byte {
	if page := e.snapshot.Page(at); page != nil {
		return page
	}
	return zeroPage
}

// packPage writes the page at that offset into to, and returns how many bytes it takes.
func packPage(to *[pageHead + hostPage]byte, at int, page, snapshot []byte) int {
	clear(to[:pageHead])
	binary.LittleEndian.PutUint32(to[:], uint32(at/hostPage))
	n := pageHead
	for i := range hostPage / word {
		differs := binary.LittleEndian.Uint32(page[i*word:]) ^ binary.LittleEndian.Uint32(snapshot[i*word:])
		if differs != 0 {
			to[4+i/8] |= 1 << (i % 8)
			binary.LittleEndian.PutUint32(to[n:], differs)
			n += word
		}
	}
	return n
}

// sign authenticates an image of the kind that magic says.
func (e *Engine) sign(magic, p []byte) []byte {
	m := hmac.New(sha256.New, e.parkKey)
	m.Write(magic)
	m.Write(p)
	return m.Sum(nil)
}

func (e *Engine) openImage(image []byte) (*imageHeader, io.Reader, error) {
	h := &imageHeader{}
	pages, err := e.unseal(imageMagic, image, h)
	if err != nil {
		return nil, nil, err
	}
	if h.Guest != e.hash {
		return nil, nil, fmt.Errorf("%w: it is of guest %s, and this engine has guest %s", ErrImage, h.Guest, e.hash)
	}
	h.Limits, h.Owner = h.Limits.withDefaults(), fair.In(e.tenant, h.Owner)
	if !e.possible(h.Memory) {
		return nil, nil, fmt.Errorf("%w: no guest can have a memory of its size", ErrImage)
	}
	return h, pages, nil
}

// possible reports whether a guest can have a memory of that size.
func (e *Engine) possible(memory int) bool {
	return memory >= e.snapshot.Size && memory <= maxMemory && memory%wasmPage == 0
}

// unseal verifies an image and reads its header into h. The result has its pages.
func (e *Engine) unseal(magic, image []byte, h any) (pages io.Reader, err error) {
	fail := func(why string) (io.Reader, error) { return nil, fmt.Errorf("%w: %s", ErrImage, why) }
	rest, ok := bytes.CutPrefix(image, magic)
	if !ok || len(rest) < sha256.Size+4 {
		return fail("it does not begin like an image")
	}
	if !hmac.Equal(rest[:sha256.Size], e.sign(magic, rest[sha256.Size:])) {
		return fail("its authentication code is wrong: somebody changed it, or made it with another key")
	}
	rest = rest[sha256.Size:]
	n := binary.LittleEndian.Uint32(rest)
	rest = rest[4:]
	if uint64(n) > uint64(len(rest)) {
		return fail("its header is cut off")
	}
	if err := json.Unmarshal(rest[:n], h); err != nil {
		return fail("its header cannot be read: " + err.Error())
	}
	return flate.NewReader(bytes.NewReader(rest[n:])), nil
}

// readPages restores in a fresh guest the memory of the parked run.
func (e *Engine) readPages(g *guest, size int, pages io.Reader) error {
	g.mem.Unwatch()
	if more := (size - g.mem.Size) / wasmPage; more > 0 {
		if _, ok := g.module.Memory().Grow(uint32(more)); !ok {
			return fmt.Errorf("sandbox: there is no memory for a run of %d bytes", size)
		}
	}
	return e.eachPage(size, pages, func(at int, page []byte) error {
		copy(g.mem.Bytes[at:], page)
		return nil
	})
}

// eachPage reads the pages of an image of a memory of that size.
func (e *Engine) eachPage(size int, pages io.Reader, use func(at int, page []byte) error) error {
	var head [pageHead]byte
	var words, page [hostPage]byte
	for {
		if _, err := io.ReadFull(pages, head[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%w: its pages cannot be read: %w", ErrImage, err)
		}
		at := uint64(binary.LittleEndian.Uint32(head[:])) * hostPage
		if at+hostPage > uint64(size) {
			return fmt.Errorf("%w: it has a page outside its memory", ErrImage)
		}
		differ := 0
		for _, b := range head[4:] {
			differ += bits.OnesCount8(b)
		}
		if _, err := io.ReadFull(pages, words[:differ*word]); err != nil {
			return fmt.Errorf("%w: its pages cannot be read: %w", ErrImage, err)
		}
		copy(page[:], e.base(int(at)))
		next := 0
		for i := range hostPage / word {
			if head[4+i/8]&(1<<(i%8)) != 0 {
				subtle.XORBytes(page[i*word:], page[i*word:(i+1)*word], words[next:])
				next += word
			}
		}
		if err := use(int(at), page[:]); err != nil {
			return err
		}
	}
}

// An imageAnswer is an answer that came before that of an older call of a deterministic run.
type imageAnswer struct {
	ID    int    `json:"id"`
	Value []byte `json:"value,omitempty"` // byte for byte, because reading it makes steps
	Error []byte `json:"error,omitempty"` // as throwJSON makes it
}

func saveAnswers(answers []answer) (saved []imageAnswer) {
	for _, a := range answers {
		s := imageAnswer{ID: a.id, Value: a.value}
		if a.err != nil {
			s.Error = throwJSON(a.err)
		}
		saved = append(saved, s)
	}
	return saved
}

func (s imageAnswer) answer() answer {
	a := answer{id: s.ID, value: s.Value}
	if s.Error != nil {
		a.err = savedThrow(s.Error)
	}
	return a
}
