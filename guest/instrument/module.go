package main

import "fmt"

// The identifiers of the sections that this command reads.
const (
	sectionCustom   = 0
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionGlobal   = 6
	sectionExport   = 7
	sectionCode     = 10
)

// order is the place of each section in a module by its identifier; custom sections may be anywhere. Data count (12)
// precedes code (10).
var order = [...]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, 12: 10, 10: 11, 11: 12}

// header is the magic number and the version of a core module.
const header = "\x00asm\x01\x00\x00\x00"

// A module holds what the command needs to know of a module to instrument it.
type module struct {
	data     []byte
	sections []section

	types     []signature
	poll      *uint32 // index of the imported function codemode_poll; nil if there is none
	drop      bool    // poll has a result
	imported  struct{ functions, globals uint32 }
	functions uint32 // defined here
	globals   vector // defined here
	exports   vector
	bodies    []body
	names     map[uint32]string // of functions, by index
}

// A section is data[start:end]; its content begins at body.
type section struct {
	id               byte
	start, body, end int
}

// A vector is a counted list. Its items begin at offset items.
type vector struct {
	count uint32
	items int
}

type signature struct{ params, results []byte }

// A body is one function of the code section: data[start:end], from its length on. Its locals begin at code, the
// insides of its loops at heads.
type body struct {
	start, code, end int
	heads            []int
	bulk             bool // has memory.copy, memory.fill or memory.init
}

// parse reads only the necessary parts of a module. It does not read tables, memories, start, elements, data count,
// data, and the custom sections except the names of functions.
func parse(data []byte) (*module, error) {
	m := &module{data: data, names: map[uint32]string{}}
	if len(data) < len(header) || string(data[:len(header)]) != header {
		return nil, &malformed{0, "not a core WebAssembly module of version 1"}
	}
	r := &reader{data: data, pos: len(header), end: len(data)}
	last := 0
	for r.more() {
		start := r.pos
		id := r.byte()
		content := r.part()
		if r.err != nil {
			return nil, r.err
		}
		m.sections = append(m.sections, section{id, start, content.pos, content.end})
		if id != sectionCustom {
			if int(id) >= len(order) {
				return nil, &malformed{start, fmt.Sprintf("unknown section %d; build the module without the feature it belongs to",
					id)}
			}
			if order[id] <= last {
				return nil, &malformed{start, fmt.Sprintf("section %d occurs twice or too late", id)}
			}
			last = order[id]
		}
		if err := m.section(id, content); err != nil {
			return nil, err
		}
	}
	if uint32(len(m.bodies)) != m.functions {
		return nil, &malformed{len(data), fmt.Sprintf("%d functions are declared, %d have code", m.functions, len(m.bodies))}
	}
	return m, nil
}

func (m *module) section(id byte, r *reader) error {
	switch id {
	case sectionCustom:
		if r.name() != "name" {
			return r.err
		}
		return m.readNames(r)
	case sectionType:
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			m.types = append(m.types, r.signature())
		}
	case sectionImport:
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			m.readImport(r)
		}
	case sectionFunction:
		m.functions = r.u32()
		for n := m.functions; n > 0 && r.err == nil; n-- {
			r.u32()
		}
	case sectionGlobal:
		m.globals = vector{r.u32(), r.pos}
		for n := m.globals.count; n > 0 && r.err == nil; n-- {
			r.globalType()
			r.constant()
		}
	case sectionExport:
		m.exports = vector{r.u32(), r.pos}
		for n := m.exports.count; n > 0 && r.err == nil; n-- {
			start := r.pos
			if r.name() == fuelName {
				r.fail(start, "%s is exported already: is the module instrumented?", fuelName)
			}
			r.kind(3)
			r.u32()
		}
	case sectionCode:
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			start := r.pos
			code := r.part()
			b := body{start: start, code: code.pos, end: code.end}
			heads, err := code.loops()
			if err != nil {
				return fmt.Errorf("function %d: %w", m.imported.functions+uint32(len(m.bodies)), err)
			}
			b.heads = heads
			b.bulk = code.bulk
			m.bodies = append(m.bodies, b)
		}
	default:
		return nil
	}
	return r.done()
}

func (m *module) readImport(r *reader) {
	start := r.pos
	r.name() // the module's: the host's own name does not matter
	name := r.name()
	switch r.kind(3) {
	case 0:
		typ := r.u32()
		if name == pollName && r.err == nil {
			m.readPoll(r, start, typ)
		}
		m.imported.functions++
	case 1:
		r.immediate('r')
		r.limits()
	case 2:
		r.limits()
	case 3:
		r.globalType()
		m.imported.globals++
	}
}

func (m *module) readPoll(r *reader, start int, typ uint32) {
	if m.poll != nil {
		r.fail(start, "%s is imported twice", pollName)
		return
	}
	if typ >= uint32(len(m.types)) {
		r.fail(start, "%s has the unknown type %d", pollName, typ)
		return
	}
	sig := m.types[typ]
	if len(sig.params) != 0 || len(sig.results) > 1 || len(sig.results) == 1 && sig.results[0] != typeI32 {
		r.fail(start, "%s takes parameters or does not return one i32 or nothing", pollName)
	}
	index := m.imported.functions
	m.poll, m.drop = &index, len(sig.results) == 1
}

// readNames stores the names of functions. It skips the rest of the name section.
func (m *module) readNames(r *reader) error {
	for r.more() {
		id := r.byte()
		sub := r.part()
		if id != 1 { // function names
			continue
		}
		for n := sub.u32(); n > 0 && sub.err == nil; n-- {
			start := sub.pos
			index := sub.u32()
			if _, ok := m.names[index]; ok {
				sub.fail(start, "function %d is named twice", index)
			}
			m.names[index] = sub.name()
		}
		if err := sub.done(); err != nil {
			return fmt.Errorf("name section: %w", err)
		}
	}
	return r.done()
}

func (r *reader) signature() (s signature) {
	start := r.pos
	if form := r.byte(); form != 0x60 {
		r.fail(start, "unknown kind of type 0x%02x", form)
	}
	for _, list := range []*[]byte{&s.params, &s.results} {
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			*list = append(*list, r.valueType())
		}
	}
	return s
}

// kind reads the kind of an import or export: 0 function, 1 table, 2 memory, 3 global.
func (r *reader) kind(largest byte) byte {
	start := r.pos
	k := r.byte()
	if k > largest {
		r.fail(start, "unknown kind %d of import or export", k)
	}
	return k
}

func (r *reader) globalType() {
	r.valueType()
	start := r.pos
	if b := r.byte(); b > 1 {
		r.fail(start, "unknown mutability %d", b)
	}
}

func (r *reader) limits() {
	start := r.pos
	flags := r.byte()
	if flags > 1 {
		r.fail(start, "unknown limits %d: shared and 64-bit memories are not supported", flags)
	}
	r.u32()
	if flags == 1 {
		r.u32()
	}
}
