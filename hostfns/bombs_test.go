package hostfns

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
)

// TestManyTinyBlocks is two results of forty thousand tiny images, all of which the program returns. To look
// for each of them in the value took minutes after the program's end; it takes milliseconds.
func TestManyTinyBlocks(t *testing.T) {
	const n = 40_000
	w := newWorld()
	made := 0
	var value []byte
	w.reply = func(context.Context, *call.Tool, json.RawMessage) (*Reply, error) {
		made++
		blocks := make(map[string]json.RawMessage, n)
		value = []byte("[")
		for i := range n {
			handle := fmt.Sprintf("HANDLE%d%09d", made, i)
			blocks[handle] = json.RawMessage(`{"type":"image","data":""}`)
			value = fmt.Appendf(value, `{"$block":%q,"type":"image","bytes":0},`, handle)
		}
		value = append(value, "0]"...)
		return &Reply{Value: value, Blocks: blocks}, nil
	}
	r := w.run()
	began := time.Now()
	for i := range 2 {
		if _, x := use(t, r, i+1, "fs__read", fmt.Sprintf(`{"n":%d}`, i)); x != nil {
			t.Fatal(x)
		}
	}
	if _, x := use(t, r, 9, "emit", `{"$block":"HANDLE2000000000"}`); x != nil {
		t.Fatal(x)
	}
	if _, x := use(t, r, 9, "emit", string(value[:len(value)-3])+"]"); x == nil {
		t.Error("forty thousand blocks were emitted")
	}
	chosen, left := r.Blocks(value)
	if len(chosen) != answerBlocks || left == 0 {
		t.Errorf("%d blocks, %d left out, want %d and the others", len(chosen), left, answerBlocks)
	}
	state, err := r.Save()
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.gate.Restore(r.info, state)
	if err != nil {
		t.Fatal(err)
	}
	if chosen, _ := again.Blocks(nil); len(chosen) != 1 {
		t.Errorf("after a restart %d blocks are emitted, want 1", len(chosen))
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
