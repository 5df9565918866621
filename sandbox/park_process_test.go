package sandbox

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// parksIn makes a test binary a process that parks a run, writes its image to
// standard output, and lives on until it is killed.
const parksIn = "CODEMODE_TEST_PARKS"

func TestMain(m *testing.M) {
	if os.Getenv(parksIn) != "" {
		parkAndHang()
	}
	if os.Getenv(digestsIn) != "" {
		if err := printDigests(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func parkAndHang() {
	image, err := func() ([]byte, error) {
		ctx := context.Background()
		e, err := New(ctx, Options{CacheDir: cachetest.Dir(), ParkKey: []byte("a key for tests")})
		if err != nil {
			return nil, err
		}
		r, err := e.Start(ctx, Program{Source: parkedProgram}, later)
		if err != nil {
			return nil, err
		}
		return r.Park(ctx)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = binary.Write(os.Stdout, binary.LittleEndian, uint32(len(image)))
	_, _ = os.Stdout.Write(image)
	time.Sleep(time.Hour) // this process is killed
}

// A run outlives the process it began in, however that ends.
func TestAParkedRunGoesOnAfterItsProcessWasKilled(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), parksIn+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	var size uint32
	if err := binary.Read(in, binary.LittleEndian, &size); err != nil {
		t.Fatal(err)
	}
	image := make([]byte, size)
	if _, err := io.ReadFull(in, image); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	_ = cmd.Wait()

	e := testEngine(t)
	began := time.Now()
	r, err := e.Resume(t.Context(), image, Program{}, later)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("an image of %d bytes of a killed process was resumed in %v", size, time.Since(began))
	for id := 1; id <= 3; id++ {
		r.Settle(id, json.RawMessage(fmt.Sprint(id)), nil)
	}
	testwait.Until(t, "the fourth call", func() bool { return len(r.Open()) > 0 })
	r.Settle(4, nil, &Throw{Class: "ToolCallDeniedError", Message: "no", Props: map[string]any{"reason": "denied"}})
	result, err := r.Wait()
	want := `[[10,20,30],["a","v1","v2","v3"],"ToolCallDeniedErrordenied","timer","live"]`
	if err != nil || string(result.Value) != want {
		t.Errorf("got %s, %v; want %s", result.Value, err, want)
	}
}

// Many runs are parked at a time: while they wait they are bytes and nothing else.
func TestManyParkedRuns(t *testing.T) {
	n := 60
	if os.Getenv("CODEMODE_LONG") != "" {
		n = 10_000
	}
	e := testEngine(t)
	images := make([][]byte, n)
	bytes := 0
	for i := range images {
		r, err := e.Start(t.Context(),
			Program{Source: "const all = await Promise.all([codemode.a__later(1), codemode.a__later(2)]); return [input, ...all]", Input: json.RawMessage(fmt.Sprint(i))}, later)
		if err != nil {
			t.Fatal(err)
		}
		images[i] = park(t, r)
		bytes += len(images[i])
	}
	t.Logf("%d parked runs of %d bytes each", n, bytes/n)
	for i := len(images) - 1; i >= 0; i-- {
		r, err := e.Resume(t.Context(), images[i], Program{}, later)
		if err != nil {
			t.Fatal(err)
		}
		r.Settle(2, json.RawMessage("20"), nil)
		r.Settle(1, json.RawMessage("10"), nil)
		if result, err := r.Wait(); err != nil || string(result.Value) != fmt.Sprintf("[%d,10,20]", i) {
			t.Fatalf("run %d: got %s, %v", i, result.Value, err)
		}
	}
}
