// Command preinit runs a guest's initialisation once and writes a module that starts in the resulting state.
//
//	go run ./guest/preinit -in module.wasm -out quickjs.wasm
//
// It calls _initialize and cm_init and writes the resulting memory into the data section, so that no process has to
// parse the bootstrap again (20 ms). Globals must not change: cm_init returns with an empty stack. The command zeroes
// the memory below the stack pointer, so that the same inputs give the same bytes. It does not change the rest of the
// module.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

func main() {
	in := flag.String("in", "", "read this `module`")
	out := flag.String("out", "", "write this `module`")
	stack := flag.Uint("stack", 832<<10, "bytes of the stack that JavaScript may use")
	gc := flag.Uint("gc", 8<<20, "bytes of garbage before the first collection")
	flag.Parse()
	if err := run(*in, *out, uint64(*stack), uint64(*gc)); err != nil {
		fmt.Fprintln(os.Stderr, "preinit:", err)
		os.Exit(1)
	}
}

func run(in, out string, stack, gc uint64) error {
	wasm, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	memory, err := initialised(wasm, stack, gc)
	if err != nil {
		return err
	}
	module, err := withMemory(wasm, memory)
	if err != nil {
		return err
	}
	return os.WriteFile(out, module, 0o644)
}

// initialised returns the memory after the initialisation.
func initialised(wasm []byte, stack, gc uint64) ([]byte, error) {
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	i32 := api.ValueTypeI32
	_, err := rt.NewHostModuleBuilder("codemode").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(context.Context, api.Module, []uint64) {}), nil,
		nil).Export("codemode_poll").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(context.Context, api.Module, []uint64) {
		panic("codemode_call during the initialisation")
	}), []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i32}).Export("codemode_call").
		Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	m, err := rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		return nil, err
	}
	size := m.Memory().Size()
	if _, err := m.ExportedFunction("_initialize").Call(ctx); err != nil {
		return nil, err
	}
	results, err := m.ExportedFunction("cm_init").Call(ctx, stack, gc)
	if err != nil {
		return nil, err
	}
	if code := uint32(results[0]); code != 0 {
		return nil, fmt.Errorf("cm_init failed in step %d: %s", code, failure(ctx, m))
	}
	if m.Memory().Size() != size {
		return nil, errors.New("the memory has grown during the initialisation: make --initial-memory larger")
	}
	results, err = m.ExportedFunction("cm_stack").Call(ctx)
	if err != nil {
		return nil, err
	}
	memory, _ := m.Memory().Read(0, size)
	clear(memory[:results[0]])
	return memory, nil
}

// failure is the shim's error message.
func failure(ctx context.Context, m api.Module) []byte {
	results, err := m.ExportedFunction("cm_shared").Call(ctx)
	if err != nil {
		return nil
	}
	at, _ := m.Memory().ReadUint32Le(uint32(results[0]) + 28)
	n, _ := m.Memory().ReadUint32Le(uint32(results[0]) + 32)
	text, _ := m.Memory().Read(at, n)
	return text
}

const (
	sectionData      = 11
	sectionDataCount = 12
)

// withMemory replaces the module's data section by one that produces this memory.
func withMemory(wasm, memory []byte) ([]byte, error) {
	segments, data := segments(memory)
	out := bytes.NewBuffer(append([]byte(nil), wasm[:8]...))
	for rest := wasm[8:]; len(rest) > 0; {
		id := rest[0]
		n, k := binary.Uvarint(rest[1:])
		if k <= 0 || uint64(len(rest)) < uint64(1+k)+n {
			return nil, errors.New("a section is cut off")
		}
		end := 1 + k + int(n)
		switch id {
		case sectionData:
			section(out, id, data)
		case sectionDataCount:
			section(out, id, binary.AppendUvarint(nil, uint64(segments)))
		default:
			out.Write(rest[:end])
		}
		rest = rest[end:]
	}
	return out.Bytes(), nil
}

func section(out *bytes.Buffer, id byte, content []byte) {
	out.WriteByte(id)
	out.Write(binary.AppendUvarint(nil, uint64(len(content))))
	out.Write(content)
}

// segments writes the nonzero bytes as active segments. Up to gap zeros inside a segment are cheaper than what a host
// stores for one more segment in each instance.
func segments(memory []byte) (count int, section []byte) {
	const gap = 1024
	var body []byte
	for i := 0; i < len(memory); {
		if memory[i] == 0 {
			i++
			continue
		}
		start, end := i, i+1
		for i = end; i < len(memory) && i-end < gap; i++ {
			if memory[i] != 0 {
				end = i + 1
			}
		}
		body = append(body, 0, 0x41) // active, memory 0, i32.const
		body = appendSigned(body, int64(start))
		body = append(body, 0x0b)
		body = binary.AppendUvarint(body, uint64(end-start))
		body = append(body, memory[start:end]...)
		count++
		i = end
	}
	return count, append(binary.AppendUvarint(nil, uint64(count)), body...)
}

func appendSigned(b []byte, v int64) []byte {
	for v < -0x40 || v >= 0x40 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7f)
}
