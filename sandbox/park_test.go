package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// later leaves every call whose name ends in later to Settle.
func later(ctx context.Context, c *Call) (json.RawMessage, error) {
	if strings.HasSuffix(c.Name, "later") {
		return nil, ErrLater
	}
	return echo(ctx, c)
}

const parkedProgram = `
	const seen = new Map([["a", 1]]);
	console.log("before");
	const timer = new Promise(r => setTimeout(() => r("timer"), 30));
	const answers = await Promise.all([1, 2, 3].map(async i => {
		const v = await codemode.a__later({i});
		seen.set("v" + i, v);
		return v * 10;
	}));
	console.log("after");
	let denied;
	try { await codemode.a__later("deny") } catch (e) { denied = e.name + e.reason }
	return [answers, [...seen.keys()], denied, await timer, await codemode.a__echo("live")]`

func park(t *testing.T, r *Run) []byte {
	t.Helper()
	image, err := r.Park(t.Context())
	checktest.OK(t, err)
	if _, err := r.Wait(); !errors.Is(err, ErrParked) {
		t.Fatalf("Wait gave %v, want ErrParked", err)
	}
	return image
}

func TestParkAndResume(t *testing.T) {
	e := testEngine(t)
	// Another engine, as another process would have.
	other, err := New(t.Context(), Options{CacheDir: cachetest.Dir(), ParkKey: []byte("a key for tests")})
	checktest.OK(t, err)
	defer other.Close(context.Background())

	r, err := e.Start(t.Context(), Program{Source: parkedProgram}, later)
	checktest.OK(t, err)
	image := park(t, r)
	r, err = other.Resume(t.Context(), image, Program{}, later)
	checktest.OK(t, err)
	open := r.Open()
	if len(open) != 3 || open[1].Name != "a__later" || string(open[1].Args) != `{"i":2}` {
		t.Fatalf("the open calls are %+v", open)
	}
	// In another order than they were made, and parked again in between.
	if !r.Settle(3, json.RawMessage("300"), nil) || r.Settle(3, json.RawMessage("3"), nil) {
		t.Error("a call is answered exactly once")
	}
	r, err = e.Resume(t.Context(), park(t, r), Program{}, later)
	checktest.OK(t, err)
	r.Settle(1, json.RawMessage("100"), nil)
	r.Settle(2, json.RawMessage("200"), nil)
	image = park(t, r)
	r, err = other.Resume(t.Context(), image, Program{}, later)
	checktest.OK(t, err)
	r.Settle(4, nil, &Throw{Class: "ToolCallDeniedError", Message: "no", Props: map[string]any{"reason": "denied"}})
	result, err := r.Wait()
	want := `[[1000,2000,3000],["a","v3","v1","v2"],"ToolCallDeniedErrordenied","timer","live"]`
	if err != nil || string(result.Value) != want {
		t.Errorf("got %s, %v; want %s", result.Value, err, want)
	}
	if len(result.Console) != 2 || result.Console[0].Text != "before" || result.Console[1].Text != "after" {
		t.Errorf("got console %v", result.Console)
	}
	if result.Usage.Calls != 5 {
		t.Errorf("got %d calls, want 5", result.Usage.Calls)
	}
}

// The two clocks of a program would be a finer one if they ticked at different moments, also after it was parked.
func TestClocksTickTogether(t *testing.T) {
	const source = `
		const difference = () => { // read within one tick
			for (;;) {
				const before = Date.now(), p = performance.now();
				if (Date.now() === before) return before - p;
			}
		};
		const differences = () => {
			const seen = new Set();
			for (const end = Date.now() + 10; Date.now() < end;) seen.add(difference());
			return seen.size;
		};
		return [differences(), await codemode.a__later(), differences()]`
	e := testEngine(t)
	for range 5 {
		r, err := e.Start(t.Context(), Program{Source: source}, later)
		checktest.OK(t, err)
		r, err = e.Resume(t.Context(), park(t, r), Program{}, later)
		checktest.OK(t, err)
		r.Settle(1, json.RawMessage("0"), nil)
		if result, err := r.Wait(); err != nil || string(result.Value) != "[1,0,1]" {
			t.Errorf("the clocks differ by so many amounts before and after: %s, %v; want one", result.Value, err)
		}
	}
}

func TestSmallRunsMakeSmallImages(t *testing.T) {
	e := testEngine(t)
	r, err := e.Start(t.Context(), Program{Source: `const seen = new Map();
		const ask = async i => { const v = await codemode.a__later({i}); seen.set(i, v); return v };
		return Promise.all([1, 2, 3].map(ask))`}, later)
	checktest.OK(t, err)
	if n := len(park(t, r)); n > 12<<10 {
		t.Errorf("the image has %d bytes, more than 12 KiB", n)
	}
}

func TestParkWithMemory(t *testing.T) {
	e := testEngine(t)
	r, err := e.Start(t.Context(),
		Program{Source: "const a = Array.from({length: 3e5}, (_, i) => i); await codemode.a__later(); return a.reduce((x, y) => x + y)"}, later)
	checktest.OK(t, err)
	if r, err = e.Resume(t.Context(), park(t, r), Program{}, later); err != nil {
		t.Fatal(err)
	}
	r.Settle(1, nil, nil)
	if result, err := r.Wait(); err != nil || string(result.Value) != "44999850000" {
		t.Errorf("got %s, %v", result.Value, err)
	}
}

func TestARunThatEndsIsNotParked(t *testing.T) {
	r, err := testEngine(t).Start(t.Context(), Program{Source: "return codemode.a__echo(1)"}, later)
	checktest.OK(t, err)
	if image, err := r.Park(t.Context()); err == nil || image != nil {
		t.Errorf("a run without open calls was parked")
	}
	if result, err := r.Wait(); err != nil || string(result.Value) != "1" {
		t.Errorf("got %s, %v", result.Value, err)
	}
	if _, err := r.Park(t.Context()); err == nil {
		t.Error("a run that has ended was parked")
	}
}

// While the image is made, an answer would come too late for it, and too early
// for the run that is resumed from it.
func TestNoAnswerIsLostWhileARunIsParked(t *testing.T) {
	e := testEngine(t)
	for i := range 60 {
		r, err := e.Start(t.Context(), Program{Source: `return Promise.all([1, 2, 3].map(i => codemode.a__later(i)))`}, later)
		checktest.OK(t, err)
		var taken [4]bool
		var wg sync.WaitGroup
		for id := 1; id < len(taken)-1; id++ { // the last one stays open: the run does not end
			wg.Go(func() {
				time.Sleep(time.Duration(10*i) * time.Microsecond) // another moment of the guest each time
				taken[id] = r.Settle(id, json.RawMessage("true"), nil)
			})
		}
		image := park(t, r)
		wg.Wait()
		resumed, err := e.Resume(t.Context(), image, Program{}, later)
		checktest.OK(t, err)
		for _, c := range resumed.Open() {
			if taken[c.ID] {
				t.Errorf("round %d: the answer of call %d was taken, and the call is open", i, c.ID)
			}
			resumed.Settle(c.ID, json.RawMessage("true"), nil)
		}
		if res, err := resumed.Wait(); err != nil || string(res.Value) != "[true,true,true]" {
			t.Fatalf("round %d: got %s, %v", i, res.Value, err)
		}
	}
}

func TestParkingCanBeGivenUp(t *testing.T) {
	e := testEngine(t)
	answered := make(chan struct{})
	r, err := e.Start(t.Context(), Program{Source: `return codemode.a__later(1)`},
		func(context.Context, *Call) (json.RawMessage, error) {
			<-answered
			return nil, ErrLater
		})
	checktest.OK(t, err)
	given, giveUp := context.WithCancelCause(t.Context())
	first, second := make(chan error), make(chan error)
	var image []byte
	go func() {
		_, err := r.Park(given)
		first <- err
	}()
	go func() {
		var err error
		image, err = r.Park(t.Context())
		second <- err
	}()
	tired := errors.New("tired of waiting")
	giveUp(tired)
	if err := <-first; !errors.Is(err, tired) {
		t.Errorf("the one who gave up got %v", err)
	}
	close(answered)
	if err := <-second; err != nil || len(image) == 0 {
		t.Errorf("the other one got %d bytes, %v", len(image), err)
	}
}

// Whoever gives up in the last moment gets the image, if there is one: nobody else has it.
func TestParkingGivenUpTooLate(t *testing.T) {
	e := testEngine(t)
	for i := range 60 {
		r, err := e.Start(t.Context(), Program{Source: `return codemode.a__later(1)`}, later)
		checktest.OK(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(10*i)*time.Microsecond)
		image, err := r.Park(ctx)
		cancel()
		if err == nil {
			if r, err = e.Resume(t.Context(), image, Program{}, later); err != nil {
				t.Fatal(err)
			}
		}
		testwait.Until(t, "it makes its call", func() bool { return len(r.Open()) > 0 })
		r.Settle(1, json.RawMessage(`"answer"`), nil)
		if res, err := r.Wait(); err != nil || string(res.Value) != `"answer"` {
			t.Fatalf("round %d: got %s, %v", i, res.Value, err)
		}
	}
}

func TestForgedImages(t *testing.T) {
	e := testEngine(t)
	r, err := e.Start(t.Context(), Program{Source: "return codemode.a__later()"}, later)
	checktest.OK(t, err)
	image := park(t, r)
	refused := func(name string, image []byte) {
		t.Helper()
		if _, err := e.Resume(t.Context(), image, Program{}, later); !errors.Is(err, ErrImage) {
			t.Errorf("%s: got %v, want ErrImage", name, err)
		}
	}
	refused("nothing", nil)
	for _, at := range []int{0, len(imageMagic), len(imageMagic) + 40, len(image) / 2, len(image) - 1} {
		forged := append([]byte(nil), image...)
		forged[at] ^= 1
		refused("a changed byte", forged)
		refused("cut off", image[:at])
	}
	header := imageHeader{Guest: "another", Memory: e.snapshot.Size}
	g, err := e.get(t.Context(), 0)
	checktest.OK(t, err)
	defer e.put(g)
	other, err := e.writeImage(header, g)
	checktest.OK(t, err)
	refused("of another guest", other)
}

func FuzzOpenImage(f *testing.F) {
	e := testEngine(f)
	r, err := e.Start(f.Context(), Program{Source: "return codemode.a__later()"}, later)
	if err != nil {
		f.Fatal(err)
	}
	image, err := r.Park(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(image[len(imageMagic)+32:])
	f.Add([]byte("\x02\x00\x00\x00{}"))
	// The fuzzer knows the key: what is behind the authentication must hold by itself.
	f.Fuzz(func(t *testing.T, rest []byte) {
		image := append(append(append([]byte(nil), imageMagic...), e.sign(imageMagic, rest)...), rest...)
		r, err := e.Resume(t.Context(), image, Program{}, later)
		if err != nil {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = r.Park(ctx)
	})
}
