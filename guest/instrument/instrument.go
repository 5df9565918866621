package main

import (
	"bytes"
	"fmt"
	"slices"
)

// The agreement with the host.
const (
	pollName = "codemode_poll" // the import that is called
	fuelName = "codemode_fuel" // the export that counts
)

type options struct {
	every int32    // loop heads from one poll to the next; at least 1
	skip  []string // names of functions with loops to leave unchanged
	bulk  []string // names of the functions that may work on whole areas of memory; nil: all
	strip bool     // omit custom sections
}

// stats counts the changes to a module.
type stats struct {
	functions int // defined in the module
	loops     int // that now report in
	skipped   int // unchanged functions
	left      int // their loops
}

func (s stats) String() string {
	return fmt.Sprintf("%d functions, %d loops report in; %d functions with %d loops skipped", s.functions, s.loops,
		s.skipped, s.left)
}

// instrument returns the module with a counter at the head of each loop. The error is a *malformed if the module is
// invalid.
func instrument(wasm []byte, o options) ([]byte, stats, error) {
	m, err := parse(wasm)
	if err != nil {
		return nil, stats{}, err
	}
	if m.poll == nil {
		return nil, stats{}, fmt.Errorf("the module does not import %s: without it no loop can report in", pollName)
	}
	skip, err := m.find(o.skip)
	if err != nil {
		return nil, stats{}, err
	}

	if o.bulk != nil {
		if err := m.bulkOnlyIn(o.bulk); err != nil {
			return nil, stats{}, err
		}
	}

	fuel := m.imported.globals + m.globals.count
	done := stats{functions: len(m.bodies), skipped: len(skip)}
	added := map[byte][]byte{
		sectionGlobal: append(appendI32([]byte{typeI32, 1, opI32Const}, o.every), opEnd),
		sectionExport: appendU32(append(append([]byte{byte(len(fuelName))}, fuelName...), 3), fuel),
	}
	out := bytes.NewBuffer(make([]byte, 0, 2*len(wasm)))
	out.WriteString(header)
	// missing writes the added sections that belong before the given place and that the module did not have.
	missing := func(place int) {
		for _, id := range []byte{sectionGlobal, sectionExport} {
			if item := added[id]; item != nil && order[id] < place {
				writeSection(out, id, append([]byte{1}, item...))
				delete(added, id)
			}
		}
	}
	for _, s := range m.sections {
		if s.id == sectionCustom {
			if !o.strip {
				out.Write(wasm[s.start:s.end])
			}
			continue
		}
		missing(order[s.id])
		switch s.id {
		case sectionGlobal:
			writeSection(out, s.id, m.globals.with(wasm[:s.end], added[s.id]))
			delete(added, s.id)
		case sectionExport:
			writeSection(out, s.id, m.exports.with(wasm[:s.end], added[s.id]))
			delete(added, s.id)
		case sectionCode:
			m.writeCode(out, s, skip, probe(fuel, *m.poll, o.every, m.drop), &done)
		default:
			out.Write(wasm[s.start:s.end])
		}
	}
	missing(len(order))
	return out.Bytes(), done, nil
}

// find returns the indices of the functions with these names. A missing or ambiguous name is an error: otherwise the
// build would continue with other loops than intended.
func (m *module) find(names []string) (map[uint32]bool, error) {
	found := map[uint32]bool{}
	for _, name := range names {
		before := len(found)
		for i := range m.functions {
			if index := m.imported.functions + i; m.names[index] == name && !found[index] {
				found[index] = true
			}
		}
		switch n := len(found) - before; {
		case n == 0:
			return nil, fmt.Errorf("no function named %q in the module: "+
				"is its name section stripped, or the function inlined or given twice?", name)
		case n > 1:
			return nil, fmt.Errorf("%d functions are named %q: which of them to skip is not clear", n, name)
		}
	}
	return found, nil
}

// bulkOnlyIn returns an error if a function other than these has memory.copy, memory.fill or memory.init.
func (m *module) bulkOnlyIn(names []string) error {
	for i, b := range m.bodies {
		index := m.imported.functions + uint32(i)
		if b.bulk && !slices.Contains(names, m.names[index]) {
			return fmt.Errorf("function %d, %q, copies or fills memory in one go, which only %q may: "+
				"compile it without bulk memory", index, m.names[index], names)
		}
	}
	return nil
}

// with returns the content of a section that ends where data does, with one more item.
func (v vector) with(data, item []byte) []byte {
	b := appendU32(nil, v.count+1)
	b = append(b, data[v.items:]...)
	return append(b, item...)
}

// writeCode writes the code section with the probe in the loops of all functions but the skipped ones. It copies a
// function, or a section, without such loops unchanged.
func (m *module) writeCode(out *bytes.Buffer, s section, skip map[uint32]bool, probe []byte, done *stats) {
	content := make([]byte, 0, 2*(s.end-s.body))
	written := s.body // content has the input up to here
	copyTo := func(offset int) {
		content = append(content, m.data[written:offset]...)
		written = offset
	}
	for i, b := range m.bodies {
		if skip[m.imported.functions+uint32(i)] {
			done.left += len(b.heads)
			continue
		}
		if len(b.heads) == 0 {
			continue
		}
		done.loops += len(b.heads)
		copyTo(b.start)
		content = appendU32(content, uint32(b.end-b.code+len(b.heads)*len(probe)))
		written = b.code
		for _, head := range b.heads {
			copyTo(head)
			content = append(content, probe...)
		}
		copyTo(b.end)
	}
	if done.loops == 0 {
		out.Write(m.data[s.start:s.end])
		return
	}
	copyTo(s.end)
	writeSection(out, sectionCode, content)
}

func writeSection(out *bytes.Buffer, id byte, content []byte) {
	out.WriteByte(id)
	out.Write(appendU32(nil, uint32(len(content))))
	out.Write(content)
}
